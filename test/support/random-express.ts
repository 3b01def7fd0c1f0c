/** Random Express apps: nested routers at every kind of path. */
import { Agent, createServer, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createGuard } from '../../examples/express/adapter.ts';
import { guarding } from './guarded.ts';
import type { Declaration, Dice, Met, RandomApp } from './random-apps.ts';

const guard = createGuard(guarding);

type Path = string | RegExp | (string | RegExp)[];
type Handler = express.RequestHandler | express.ErrorRequestHandler;

const PATHS: readonly Path[] = [
  ...['/', '/a', '/A', '/a/', '/a/b', '/:p', '/a/:p', '/:p/b', '/*r', '/a/*r', '/{*t}', '/a{/b}'],
  ...[/^\/a/, /b$/i, /^\/(\w)$/],
];
const LISTS: readonly Path[] = [
  ['/a', '/b'],
  ['/b', /^\/d/],
  ['/:p', '/a/', '/*r'],
];
const MOUNTS: readonly Path[] = [
  '/',
  '/a',
  '/a/',
  '/:m',
  '/A',
  '/a/b',
  ['/a', '/m'],
  ['/', '/a'],
  /^\/m/,
];

/** The mounts of a router, one or several. */
interface Scope {
  readonly mounts: { readonly parent: Scope; readonly path: Path }[];
}

const ROOT: Scope = { mounts: [] };

/** The paths as the lock prints them. */
function pathsBelow(scope: Scope, path: Path): readonly string[] {
  const each = Array.isArray(path) ? path : [path];
  if (scope === ROOT) return each.map((one) => joined('', shown(one)));
  const mounts = scope.mounts.flatMap((mount) => pathsBelow(mount.parent, mount.path));
  return mounts.flatMap((mount) => each.map((one) => joined(mount, shown(one))));
}

function shown(path: string | RegExp): string {
  return typeof path === 'string' ? path : `(${String(path)})`;
}

function joined(mount: string, path: string): string {
  if (path === '/') return mount === '' ? '/' : mount;
  return mount.endsWith('/') ? mount.slice(0, -1) + path : mount + path;
}

const pass: express.RequestHandler = (_req, _res, next) => next();
const onError: express.ErrorRequestHandler = (error, _req, _res, next) => next(error);
/** Lets a request continue after any error of a guard. */
const goOn: express.ErrorRequestHandler = (_error, _req, _res, next) => next();

class Builder {
  readonly handlers = new Map<number, Declaration>();
  isHidden = false;
  readonly #dice: Dice;
  readonly #children: { readonly router: express.Router; readonly scope: Scope }[] = [];

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  fill(router: express.Router, scope: Scope, depth: number): void {
    for (const add of this.#dice.some(1, 5, () => this.#dice.below(10))) {
      if (add < 4) this.#route(router, scope);
      else if (add === 4) this.#all(router, scope);
      else if (add === 5) this.#several(router, scope);
      else if (add === 6) router.use(this.#dice.pick(MOUNTS.slice(1)), this.#guard());
      else if (add === 7)
        router.use(this.#dice.pick(MOUNTS), this.#dice.pick([pass, onError, goOn]));
      else if (depth > 0) this.#mount(router, scope, depth);
    }
  }

  #guard(): Handler {
    const operation = this.#dice.pick(['one', 'two', 'three'] as const);
    return this.#dice.chance(0.2) ? guard(operation, { entity: failing }) : guard(operation);
  }

  #mount(router: express.Router, scope: Scope, depth: number): void {
    const path = this.#dice.pick(MOUNTS);
    if (this.#dice.chance(0.04)) {
      const inner = express();
      inner.get('/a', (_req, res) => void res.end());
      router.use(path, inner);
      this.isHidden = true;
      return;
    }
    if (this.#dice.chance(0.2) && this.#children.length > 0) {
      const { router: again, scope: inner } = this.#dice.pick(this.#children);
      inner.mounts.push({ parent: scope, path });
      router.use(path, again);
      return;
    }
    const options = this.#dice.pick([{}, { caseSensitive: true }, { strict: true }]);
    const child = express.Router({ ...options, mergeParams: this.#dice.chance(0.5) });
    const inner: Scope = { mounts: [{ parent: scope, path }] };
    this.fill(child, inner, depth - 1);
    // Only complete routers, because a router within itself has no end.
    this.#children.push({ router: child, scope: inner });
    const before = this.#dice.chance(0.3) ? [this.#guard()] : [];
    router.use(path, ...before, child);
  }

  #path(): Path {
    return this.#dice.pick(this.#dice.chance(0.15) ? LISTS : PATHS);
  }

  #route(router: express.Router, scope: Scope): void {
    const method = this.#dice.pick(['get', 'get', 'post', 'head'] as const);
    const path = this.#path();
    const methods = new Set([method.toUpperCase()]);
    router[method](path, ...this.#chain({ methods, paths: () => pathsBelow(scope, path) }));
  }

  #all(router: express.Router, scope: Scope): void {
    const path = this.#path();
    const methods = new Set(['ALL']);
    router.all(path, ...this.#chain({ methods, paths: () => pathsBelow(scope, path) }));
  }

  #several(router: express.Router, scope: Scope): void {
    const path = this.#path();
    const methods = new Set<string>();
    const declared = { methods, paths: () => pathsBelow(scope, path) };
    const route = router.route(path);
    for (const method of this.#dice.some(1, 4, () =>
      this.#dice.pick(['all', 'get', 'post', 'head'] as const),
    )) {
      methods.add(method.toUpperCase());
      route[method](...this.#chain(declared));
    }
  }

  /** Guards first, later, twice, wrapped or missing; handlers that answer or continue. */
  #chain(declared: Declaration): Handler[] {
    const dice = this.#dice;
    const chain = dice.some(0, 3, (): Handler | Handler[] => {
      const kind = dice.below(8);
      if (kind < 4) return this.#guard();
      if (kind === 4) return [pass, this.#guard()];
      if (kind === 5) return dice.pick([pass, onError, goOn, goOn]);
      if (kind === 6) return wrapped(this.#guard() as express.RequestHandler);
      return this.#answer(declared);
    });
    const last = dice.chance(0.85) ? [this.#answer(declared)] : [pass];
    return chain.concat(last).flat();
  }

  #answer(declared: Declaration): Handler {
    const number = this.handlers.size;
    this.handlers.set(number, declared);
    const answer = (res: express.Response) => void res.set('x-handler', `${number}`).end();
    const two: express.RequestHandler = (_req, res) => answer(res);
    const three: express.RequestHandler = (_req, res, _next) => answer(res);
    const none: express.RequestHandler = (...args) => answer(args[1]);
    return this.#dice.pick([two, three, none]);
  }
}

function failing(): string {
  throw new Error('the entity cannot be read');
}

/** A wrapped guard. */
function wrapped(inner: express.RequestHandler): express.RequestHandler {
  return (req, res, next) => inner(req, res, next);
}

let listener: RequestListener = () => {};
const server = createServer((req, res) => listener(req, res));
const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/** Starts the shared server of all apps. */
export async function openExpress(): Promise<() => void> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return () => {
    agent.destroy();
    server.close();
  };
}

/** Sends a request without `fetch`, which normalizes paths. */
function send(method: string, path: string): Promise<Met> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method, path, agent }, (res) => {
      const { 'x-handler': number } = res.headers;
      const handler = number === undefined ? null : Number(number);
      res.resume().on('end', () => resolve({ handler, status: res.statusCode ?? 0 }));
    });
    sent.on('error', reject).end();
  });
}

export function randomExpress(dice: Dice): RandomApp {
  const app = express();
  // Otherwise, Express prints each error.
  app.set('env', 'test');
  app.set('case sensitive routing', dice.chance(0.3)).set('strict routing', dice.chance(0.3));
  const builder = new Builder(dice);
  builder.fill(app as unknown as express.Router, ROOT, 3);
  listener = app;
  return { app, handlers: builder.handlers, isHidden: builder.isHidden, send };
}
