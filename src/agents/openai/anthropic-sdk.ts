/** What is used of Anthropic's SDK: a third of it, bundled apart. */
export { APIConnectionError, APIConnectionTimeoutError, APIError, BaseAnthropic } from '@anthropic-ai/sdk';
export { Messages } from '@anthropic-ai/sdk/resources/messages/messages';
