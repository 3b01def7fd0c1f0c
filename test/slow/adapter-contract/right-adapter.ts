/** An adapter that keeps the contract, over `node:http`, in parts that a wrong one can replace. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Admission, DenialResponse } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';
import type { AdapterSetup, ServeAdapter } from 'keyscope/testing';
import { close, listen } from '../../examples/http-harness.ts';

export type Operation = 'whoami' | 'readReports';

/** What `admit` is asked, beside the request. */
export interface AdmissionInput {
  readonly operation: Operation;
  readonly entityUuid: unknown;
}

/** What an adapter does, step by step. */
export interface AdapterParts {
  /** When the route is declared. */
  declare(setup: AdapterSetup, operation: Operation): void;
  /** Headers of every answer, set before anything is asked. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the guard is passed by. */
  passes(req: IncomingMessage): boolean;
  /** The entity that the request addresses: all values of the parameter. */
  entity(req: IncomingMessage): unknown;
  /** What the keyring reads the credential from. */
  request(req: IncomingMessage): unknown;
  admit(
    setup: AdapterSetup,
    request: unknown,
    input: AdmissionInput,
    req: IncomingMessage,
  ): Promise<Admission>;
  /** Answers what was thrown, or throws what is for somebody else; `null` lets the request in. */
  deny(error: unknown, setup: AdapterSetup, req: IncomingMessage): DenialResponse | null;
  handle(setup: AdapterSetup, admission: Admission): Promise<string>;
  /** Answers an error that nobody else did. */
  fail(res: ServerResponse, error: unknown, setup: AdapterSetup): unknown;
}

export function challengeOf({ realm, resourceMetadata }: AdapterSetup) {
  return { realm, resourceMetadata };
}

/** All values of the query parameter `entity`. */
export function entitiesOf(req: IncomingMessage): string[] {
  return queryOf(req).getAll('entity');
}

export function queryOf(req: IncomingMessage): URLSearchParams {
  return new URL(req.url ?? '/', 'http://localhost').searchParams;
}

export function admit(
  { keyring, policy }: AdapterSetup,
  request: unknown,
  input: AdmissionInput,
): Promise<Admission> {
  return keyring.admit(request as IncomingMessage, { policy, ...input });
}

export const RIGHT: AdapterParts = {
  declare(setup, operation) {
    if (!setup.keyring?.admit) throw new TypeError('pass a keyring');
    toResponse(undefined, challengeOf(setup));
    setup.policy.requires(operation);
  },
  headers: { 'Cache-Control': 'no-store' },
  passes: () => false,
  entity: entitiesOf,
  request: (req) => req,
  admit: (setup, request, input) => admit(setup, request, input),
  deny(error, setup) {
    if (!isAccessError(error) && !isStoreError(error)) throw error;
    return toResponse(error, challengeOf(setup));
  },
  handle: async ({ handle }, { principal, entityUuid }) => handle(principal, entityUuid),
  fail: (res) => res.writeHead(500).end(),
};

/** Serves the right adapter with what `change` replaces in it. */
export function serveWith(change: () => Partial<AdapterParts>): ServeAdapter {
  return async (setup) => {
    // Anew for each app, for the tests run side by side.
    const parts = { ...RIGHT, ...change() };
    parts.declare(setup, 'whoami');
    parts.declare(setup, 'readReports');
    // Large enough for a credential that is too long.
    const server = createServer({ maxHeaderSize: 65_536 }, (req, res) => {
      respond(parts, setup, req, res).catch((error) => parts.fail(res, error, setup));
    });
    return { url: `http://127.0.0.1:${await listen(server)}`, close: () => close(server) };
  };
}

async function respond(
  parts: AdapterParts,
  setup: AdapterSetup,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  for (const [name, value] of Object.entries(parts.headers)) {
    res.setHeader(name, value);
  }
  const operation = req.url?.startsWith('/whoami') ? 'whoami' : 'readReports';
  let admission = { principal: {}, entityUuid: '' } as Admission;
  try {
    const entityUuid = operation === 'readReports' ? parts.entity(req) : undefined;
    if (!parts.passes(req)) {
      const input = { operation, entityUuid } as const;
      admission = await parts.admit(setup, parts.request(req), input, req);
    }
  } catch (error) {
    const answer = parts.deny(error, setup, req);
    if (answer !== null) {
      res.writeHead(answer.status, answer.headers).end(answer.body);
      return;
    }
  }
  res.end(await parts.handle(setup, admission));
}
