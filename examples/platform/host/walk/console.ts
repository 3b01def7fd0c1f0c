/** What a browser sends to the console, from signing in to the page that shows the key once. */
import { KEYS, SIGN_IN } from '../../../console/paths.ts';
import { Surprise, say } from './surprise.ts';

/** A browser that came by the service's own name, and keeps its cookie. */
class Visitor {
  readonly #origin: string;
  readonly #publicUrl: string;
  #cookie = '';

  constructor(origin: string, publicUrl: string) {
    this.#origin = origin;
    this.#publicUrl = publicUrl;
  }

  /** @returns The page's text. `form`: what is sent with a POST. */
  async visit(path: string, form?: URLSearchParams): Promise<string> {
    const method = form === undefined ? 'GET' : 'POST';
    const response = await fetch(`${this.#origin}${path}`, {
      method,
      redirect: 'manual',
      headers: { Cookie: this.#cookie, Origin: this.#publicUrl },
      ...(form && { body: form }),
    });
    const cookie = response.headers.getSetCookie()[0]?.split(';')[0];
    if (cookie !== undefined) this.#cookie = cookie;
    // A key's id differs from run to run; a link is nobody else's.
    const shown = path.replace(/[0-9a-f-]{36}/, ':id').replace(/\?.*/, '');
    say(`   ${method} ${shown} → ${response.status}`);
    const next = response.headers.get('Location');
    // To a new key, not into the console.
    if (next?.endsWith('/new')) return this.visit(next);
    return response.text();
  }
}

/** The value of a field on a page; empty if there is none. */
function fieldOf(page: string, attribute: string): string {
  return new RegExp(`${attribute} value="([^"]+)"`).exec(page)?.[1] ?? '';
}

/**
 * Obtains a key in the six steps of the interface.
 *
 * @param link Signs in.
 */
export async function obtainKey(
  origin: string,
  link: string,
  scopes: readonly string[],
): Promise<string> {
  const { origin: publicUrl, pathname, search } = new URL(link);
  const visitor = new Visitor(origin, publicUrl);
  const opened = await visitor.visit(`${pathname}${search}`);
  await visitor.visit(SIGN_IN, new URLSearchParams({ link: fieldOf(opened, 'name="link"') }));
  const empty = await visitor.visit(`${KEYS}/new`);
  const once = fieldOf(empty, 'name="once"');
  const form = new URLSearchParams({ once, name: 'Check', lifetime: 'never' });
  for (const scope of scopes) form.append('scopes', scope);
  const shown = await visitor.visit(KEYS, form);
  const key = fieldOf(shown, 'id="key"');
  if (key === '') throw new Surprise('the console showed no key');
  return key;
}
