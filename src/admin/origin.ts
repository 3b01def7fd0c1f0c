/**
 * Keeps pages of other sites from using the cookies of whoever looks at them. A browser asks before
 * it sends JSON to another origin (Fetch, "CORS-safelisted request-header"), and nothing here says
 * yes. This is the second line, for a service that does say yes in front.
 */

/**
 * Whether a page that may sent an unsafe request, or no page at all.
 *
 * - `Sec-Fetch-Site` (Fetch Metadata §2.4), which no page can write: `same-origin`; `none`, which a
 *   person or an extension caused and no page can; or nothing, which is no browser, or one that
 *   does not trust the connection. Not `same-site`: a sibling domain may belong to a customer.
 * - `Origin`, if there is one: of the host that the request was sent to, as the request says it.
 *   `null`, of sandboxed frames, is none. The scheme is not compared, because behind a proxy nobody
 *   knows it; a browser that does not trust the other scheme has said `cross-site`.
 *
 * @param origins Other origins whose pages may, in the spelling that browsers send.
 */
export function isFromOwnPage({ headers, url }: Request, origins: ReadonlySet<string>): boolean {
  const origin = headers.get('origin');
  if (origin !== null && origins.has(origin)) return true;
  const site = headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin' && site !== 'none') return false;
  const host = headers.get('host') ?? new URL(url).host;
  return origin === null || (isOrigin(origin) && new URL(origin).host === host);
}

/** Whether it is an origin as browsers write it: no user, path or default port (RFC 6454 §7.1). */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
