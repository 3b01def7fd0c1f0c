/** Procedures of a tRPC 11 router. */
import { operationsOf } from './guards.js';
import type { GuardedRoute } from './route.js';

interface Router {
  readonly _def: {
    readonly router: true;
    /** By their whole paths, those of nested routers too. */
    readonly procedures: Readonly<Record<string, Procedure>>;
  };
}

interface Procedure {
  readonly _def: { readonly type: string; readonly middlewares: readonly unknown[] };
}

export function isTrpc(app: unknown): boolean {
  const { _def } = Object(app) as Partial<Router>;
  return _def?.router === true && typeof _def.procedures === 'object';
}

const METHODS: Readonly<Record<string, string>> = {
  query: 'QUERY',
  mutation: 'MUTATION',
  subscription: 'SUBSCRIPTION',
};

/** The method is the kind of a procedure. */
export function readTrpc(app: unknown): readonly GuardedRoute[] {
  const { procedures } = (app as Router)._def;
  return Object.entries(procedures).map(([path, { _def }]) => {
    const operations = operationsOf(_def.middlewares);
    return { method: METHODS[_def.type] ?? _def.type, path, operations };
  });
}
