/**
 * Keeps pages of other sites from using the cookies of their visitors. A browser asks before it
 * sends JSON to another origin (Fetch, "CORS-safelisted request-header"), and the endpoints never
 * allow it. This check is the second line of defence, for services that allow it in front.
 */

/**
 * Checks that no page of another site sent an unsafe request.
 *
 * - `Sec-Fetch-Site` (Fetch Metadata §2.4), which pages cannot write, must be `same-origin` or
 *   `none`, or absent. `none` comes from a person or an extension. It is absent without a browser,
 *   or if the browser does not trust the connection. `same-site` is refused, because a sibling
 *   domain may belong to a customer.
 * - `Origin`, if present, must have the host that the request was sent to. `null`, which sandboxed
 *   frames send, does not. The scheme is not compared, because it is unknown behind a proxy; a
 *   browser that does not trust the other scheme sends `cross-site`.
 *
 * @param origins Other origins whose pages may send it, in the spelling of browsers.
 */
export function isFromOwnPage({ headers, url }: Request, origins: ReadonlySet<string>): boolean {
  const origin = headers.get('origin');
  if (origin !== null && origins.has(origin)) return true;
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') return false;
  const host = headers.get('host') ?? new URL(url).host;
  return origin === null || (isOrigin(origin) && new URL(origin).host === host);
}

/** Checks for an origin in the form of browsers: no user, path or default port (RFC 6454 §7.1). */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
