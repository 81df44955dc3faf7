/** An attribute that nothing reads, and that is probably misspelt. */
import type { Rule } from '../rule.ts';
import { unread } from '../unread.ts';

export const unknownAttribute: Rule = (subject) => unread(subject, 'unknown-attribute');
