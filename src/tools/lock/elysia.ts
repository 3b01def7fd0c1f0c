/** Routes of Elysia 1: `app.routes`, whose handlers are what a guard returned. */
import { assert, hasMethods } from '../../core/input.js';
import { operationsOf } from './guards.js';
import type { GuardedRoute } from './route.js';

interface App {
  readonly routes: readonly {
    readonly method: string;
    readonly path: string;
    readonly handler: unknown;
  }[];
  /** Plugins that are still being loaded. */
  readonly promisedModules?: { readonly size: number };
}

const LOADING = 'routesOf: await app.modules before, so that all plugins are loaded';

export function isElysia(app: unknown): boolean {
  const isApp = hasMethods(app, 'handle', 'onBeforeHandle', 'decorate', 'guard');
  return isApp && Array.isArray((app as App).routes);
}

/** @throws TypeError if plugins are still being loaded. */
export function readElysia(app: unknown): readonly GuardedRoute[] {
  const { routes, promisedModules } = app as App;
  assert((promisedModules?.size ?? 0) === 0, LOADING);
  return routes.map(({ method, path, handler }) => {
    return { method, path, operations: operationsOf([handler]) };
  });
}
