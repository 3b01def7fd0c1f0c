/** Random Hono apps: nested and mounted apps, base paths and error handlers. */
import { Hono, type MiddlewareHandler } from 'hono';
import { routePath } from 'hono/route';
import { TrieRouter } from 'hono/router/trie-router';
import { mergePath } from 'hono/utils/url';
import { createGuard } from '../../examples/hono/adapter.ts';
import { guarding } from './guarded.ts';
import type { Declaration, Dice, RandomApp } from './random-apps.ts';

const guard = createGuard(guarding);

const PATHS = [
  ...['/', '/a', '/A', '/a/', '/a/b', '/:p', '/a/:p', '/:p/b', '*', '/*', '/a/*', '/*/b'],
  ...['/:p?', '/a/:p?', '/:p{[ab]+}', '/a/:p{.+}'],
];
const MOUNTS = ['/', '/a', '/b', '/:q', '/A', '/a/:q'];

const pass: MiddlewareHandler = (_c, next) => next();

type Chain = [MiddlewareHandler, ...MiddlewareHandler[]];

class Builder {
  readonly handlers = new Map<number, Declaration>();
  readonly #dice: Dice;
  readonly #isStrict: boolean;

  constructor(dice: Dice, isStrict: boolean) {
    this.#dice = dice;
    this.#isStrict = isStrict;
  }

  fill(app: Hono, prefix: string, depth: number): void {
    for (const add of this.#dice.some(1, 5, () => this.#dice.below(11))) {
      const path = this.#dice.pick(PATHS);
      if (add < 4) this.#route(app);
      else if (add === 4) app.all(path, ...this.#chain('ALL'));
      else if (add === 5) app.use(path, ...this.#dice.some(1, 2, () => this.#guard()));
      else if (add === 6) app.use(path, ...this.#dice.pick([[pass], [pass, this.#guard()]]));
      else if (add === 7) app.on(['GET', 'POST'], [path, '/b'], ...this.#chain('GET', 'POST'));
      else if (depth > 0 && add < 10) this.#nest(app, prefix, depth);
      else if (this.#dice.chance(0.3)) this.#mount(app, prefix);
    }
  }

  #guard(): MiddlewareHandler {
    return guard(this.#dice.pick(['one', 'two', 'three'] as const)) as MiddlewareHandler;
  }

  #nest(app: Hono, prefix: string, depth: number): void {
    const at = this.#dice.pick(MOUNTS);
    if (this.#dice.chance(0.3)) {
      this.fill(app.basePath(at) as Hono, mergePath(prefix, at), depth - 1);
      return;
    }
    const inner = new Hono({ strict: this.#isStrict });
    if (this.#dice.chance(0.5)) inner.onError((_error, c) => c.text('failed', 500));
    this.fill(inner, mergePath(prefix, at), depth - 1);
    app.route(at, inner);
  }

  #mount(app: Hono, prefix: string): void {
    const at = this.#dice.pick(MOUNTS.filter((path) => !path.includes(':')));
    const number = this.handlers.size;
    const path = mergePath(prefix, at, '*');
    this.handlers.set(number, { methods: new Set(['ALL']), paths: () => [path] });
    const headers = { 'x-handler': `${number}`, 'x-path': path };
    const replaceRequest = (request: Request) => request;
    app.mount(at, () => new Response(null, { headers }), { replaceRequest });
  }

  #route(app: Hono): void {
    const method = this.#dice.pick(['get', 'get', 'post', 'put'] as const);
    app[method](this.#dice.pick(PATHS), ...this.#chain(method.toUpperCase()));
  }

  #chain(...methods: readonly string[]): Chain {
    const dice = this.#dice;
    const declared = { methods: new Set(methods), paths: () => [] };
    const chain = dice.some(0, 3, (): MiddlewareHandler => {
      const kind = dice.below(8);
      if (kind < 5) return this.#guard();
      if (kind === 5) return pass;
      if (kind === 6) return wrapped(this.#guard());
      return this.#answer(declared);
    });
    const last = dice.chance(0.85) ? this.#answer(declared) : pass;
    const [first, ...rest] = chain;
    return first === undefined ? [last] : [first, ...rest, last];
  }

  #answer(declared: Declaration): MiddlewareHandler {
    const number = this.handlers.size;
    this.handlers.set(number, declared);
    const answerBy = (path: string) => {
      return new Response(null, { headers: { 'x-handler': `${number}`, 'x-path': path } });
    };
    return this.#dice.pick<MiddlewareHandler>([
      async (c) => answerBy(routePath(c)),
      async (c, _next) => answerBy(routePath(c)),
    ]);
  }
}

/** A wrapped guard. */
function wrapped(inner: MiddlewareHandler): MiddlewareHandler {
  return (c, next) => inner(c, next);
}

export function randomHono(dice: Dice): RandomApp {
  const strict = dice.chance(0.5);
  const app = dice.chance(0.5)
    ? new Hono({ strict })
    : new Hono({ strict, router: new TrieRouter() });
  const builder = new Builder(dice, strict);
  builder.fill(app, '/', 3);
  async function send(method: string, url: string) {
    const { headers, status } = await app.request(`http://localhost${url}`, { method });
    const number = headers.get('x-handler');
    const handler = number === null ? null : Number(number);
    return { handler, status, path: headers.get('x-path') ?? undefined };
  }
  return { app, handlers: builder.handlers, isHidden: false, send };
}
