/** Routes of `@koa/router` 15, by themselves or in front of a Koa app. */
import { hasMethods } from '../../core/input.js';
import { leadingOperations, operationOf, operationsBeforeHandler } from './guards.js';
import { covers, expressSegments, type Front } from './paths.js';
import type { GuardedRoute } from './route.js';

interface Layer {
  readonly path: string | RegExp;
  /** None for what `router.use` was given. */
  readonly methods: readonly string[];
  readonly stack: readonly unknown[];
  readonly opts: { readonly sensitive?: boolean; readonly pathAsRegExp?: boolean };
}

interface Router {
  readonly stack: readonly Layer[];
  /** If set, only the last of the layers that match is run. */
  readonly exclusive?: unknown;
}

interface App {
  readonly middleware: readonly unknown[];
}

/** Middleware takes `ctx` and `next`. */
const NEXT = 2;

/** How the router writes a prefix as an expression; it tells capitals from small letters. */
const PREFIX = '(?:\\/|$)';

function isRouter(value: unknown): value is Router {
  const isKind = hasMethods(value, 'routes', 'register', 'allowedMethods', 'match');
  return isKind && Array.isArray((value as Router).stack);
}

function isApp(value: unknown): value is App {
  const isKind = hasMethods(value, 'use', 'callback', 'createContext');
  return isKind && Array.isArray((value as App).middleware);
}

export function isKoa(app: unknown): boolean {
  return isApp(app) || isRouter(app);
}

export function readKoa(app: unknown): readonly GuardedRoute[] {
  if (isRouter(app)) return readRouter(app, []);
  const fronts: Front[] = [];
  return (app as App).middleware.flatMap((each) => {
    const operation = operationOf(each);
    if (operation !== undefined) {
      fronts.push({ operation, method: 'ALL', segments: [], isPrefix: true });
    }
    const { router } = each as { readonly router?: unknown };
    return isRouter(router) ? readRouter(router, fronts) : [];
  });
}

function readRouter({ stack, exclusive }: Router, before: readonly Front[]): GuardedRoute[] {
  const fronts = [...before];
  return stack.flatMap((layer) => {
    if (layer.methods.length === 0) {
      if (!exclusive) fronts.push(...frontsOf(layer));
      return [];
    }
    const segments = segmentsOf(layer);
    const own = operationsBeforeHandler(layer.stack, NEXT);
    if (own === null) return [];
    return methodsOf(layer).map((method) => {
      const met = fronts.filter((front) => covers(front, { method, segments }));
      const operations = [...met.map(({ operation }) => operation), ...own];
      return { method, path: String(layer.path), operations };
    });
  });
}

function frontsOf(layer: Layer): readonly Front[] {
  const segments = segmentsOf(layer);
  return leadingOperations(layer.stack).map((operation) => {
    return { operation, method: 'ALL', segments, isPrefix: true };
  });
}

function segmentsOf({ path, opts }: Layer): Front['segments'] {
  const isPrefix = typeof path === 'string' && opts.pathAsRegExp === true && path.endsWith(PREFIX);
  const text = isPrefix ? path.slice(0, -PREFIX.length) : path;
  const isSensitive = isPrefix || opts.sensitive === true;
  return expressSegments(text, { isSensitive, isStrict: false });
}

/** `router.all` names each method that Node knows; to a GET the router adds HEAD. */
function methodsOf({ methods }: Layer): readonly string[] {
  return methods.includes('TRACE') && methods.includes('GET') ? ['ALL'] : [...new Set(methods)];
}
