/** What a browser sends to the console, from signing in to the page that shows the key once. */
import { KEYS, SIGN_IN } from '../../../console/paths.ts';
import { openAccount } from '../../../console/server.ts';
import type { Platform } from '../boot.ts';
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
    // A key's id differs from run to run.
    say(`   ${method} ${path.replace(/[0-9a-f-]{36}/, ':id')} → ${response.status}`);
    const next = response.headers.get('Location');
    // To a new key, not into the console.
    if (next?.endsWith('/new')) return this.visit(next);
    return response.text();
  }
}

/** Obtains a key in the six steps of the interface. */
export async function obtainKey(
  origin: string,
  platform: Platform,
  scopes: readonly string[],
): Promise<string> {
  const account = await openAccount(platform);
  if (account === null) throw new Surprise('there is no admin who could sign in');
  const visitor = new Visitor(origin, platform.publicUrl);
  await visitor.visit(SIGN_IN, new URLSearchParams({ ...account }));
  const empty = await visitor.visit(`${KEYS}/new`);
  const once = /name="once" value="([^"]+)"/.exec(empty)?.[1] ?? '';
  const form = new URLSearchParams({ once, name: 'Check', lifetime: 'never' });
  for (const scope of scopes) form.append('scopes', scope);
  const shown = await visitor.visit(KEYS, form);
  const key = /id="key" value="([^"]+)"/.exec(shown)?.[1];
  if (key === undefined) throw new Surprise('the console showed no key');
  return key;
}
