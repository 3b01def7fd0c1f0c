/** Recognizes a client that a Worker kept from an earlier request. */

/** Part of the message of workerd, which binds each connection to the request that opened it. */
const IN_ANOTHER_REQUEST = 'on behalf of a different request';

/** The error that look-ups and writes then throw. */
const KEPT_CLIENT =
  'the client was made in another request, and Cloudflare Workers let no other request use it. ' +
  'Make the client, the store and the keyring in each request';

/** Returns the message of a driver's error, or what to do if the client was kept. */
export function explainKeptClient(message: string): string {
  return message.includes(IN_ANOTHER_REQUEST) ? KEPT_CLIENT : message;
}
