/** Reads a server's own URL, which identifies it to clients and in tokens. */
import { assert } from '../core/input.js';
import { assertIsSecure } from '../http/address.js';

/**
 * Reads a resource identifier (RFC 9728 §1.2, RFC 8707 §2) in its canonical spelling.
 *
 * @param what The name of the value in an error.
 * @throws TypeError if it is not an absolute https URL without credentials, query and fragment, or
 *   not in its canonical spelling. Plain http is accepted only for this machine.
 */
export function readResource(value: unknown, what: string): URL {
  const text = String(value);
  assert(URL.canParse(text), `${what}: pass an absolute URL`, value);
  const url = new URL(text);
  assertIsSecure(url, what);
  // Searches the text, because a parsed URL does not show an empty query or fragment.
  assert(!/[?#]/.test(text), `${what}: pass a URL without query or fragment`);
  // A host in upper case, a default port, dot segments or white space would never match a token.
  const isExact = url.href === text || url.href === `${text}/`;
  assert(isExact, `${what}: write it as ${url.href}`);
  return url;
}
