/** Checks addresses of other parties. */
import { assert } from '../core/input.js';

const LOCAL_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Checks that nobody on the way can answer for an address.
 *
 * @param what The name of the value in an error.
 * @throws TypeError if the URL is not https, or has credentials. Plain http is accepted only for
 *   this machine.
 */
export function assertIsSecure(url: URL, what: string): void {
  const isLocal = url.protocol === 'http:' && LOCAL_HOSTS.includes(url.hostname);
  const isSecure = url.protocol === 'https:' || isLocal;
  assert(isSecure, `${what}: pass an https URL. http is allowed only for this machine`);
  const isBare = url.username === '' && url.password === '';
  assert(isBare, `${what}: pass a URL without credentials`);
}
