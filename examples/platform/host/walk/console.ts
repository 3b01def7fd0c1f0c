/** The requests of a browser, from the sign-in to the page that shows the key once. */
import { KEYS, SIGN_IN } from '../../../console/paths.ts';
import { Surprise, say } from './surprise.ts';

/** A browser that uses the public URL of the service, and keeps its cookie. */
class Visitor {
  readonly #origin: string;
  readonly #publicUrl: string;
  #cookie = '';

  constructor(origin: string, publicUrl: string) {
    this.#origin = origin;
    this.#publicUrl = publicUrl;
  }

  /** @param form The fields of a POST. @returns The text of the page. */
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
    // Key ids differ from run to run, and the link is a secret.
    const shown = path.replace(/[0-9a-f-]{36}/, ':id').replace(/\?.*/, '');
    say(`   ${method} ${shown} → ${response.status}`);
    return response.text();
  }
}

/** Returns the value of a field on a page; empty if the page does not have it. */
function fieldOf(page: string, attribute: string): string {
  return new RegExp(`${attribute} value="([^"]+)"`).exec(page)?.[1] ?? '';
}

/**
 * Creates a key in the console, step by step like a person.
 *
 * @param link The link that signs in.
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
  const csrf = fieldOf(empty, 'name="csrf"');
  const form = new URLSearchParams({ csrf, name: 'Check', lifetime: 'never' });
  for (const scope of scopes) form.append('scopes', scope);
  const shown = await visitor.visit(KEYS, form);
  const key = fieldOf(shown, 'id="key"');
  if (key === '') throw new Surprise('the console showed no key');
  return key;
}
