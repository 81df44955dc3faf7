/** Whether a host, as a URL or an address to listen at has it, is this machine by its name alone. Pure. */
export const isLoopback = (host: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
