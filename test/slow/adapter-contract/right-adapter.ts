/** A correct adapter over `node:http`, in parts that wrong adapters can replace. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Admission, DenialResponse } from 'keyscope';
import { isAccessError, isStoreError, toResponse } from 'keyscope';
import type { AdapterSetup, ServeAdapter } from 'keyscope/testing';
import { close, listen } from '../../examples/http-harness.ts';

export type Operation = 'whoami' | 'readReports';

/** The input of `admit` next to the request. */
export interface AdmissionInput {
  readonly operation: Operation;
  readonly entityId: unknown;
}

/** The steps of an adapter. */
export interface AdapterParts {
  /** Runs when the route is declared. */
  declare(setup: AdapterSetup, operation: Operation): void;
  /** The headers of every answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the request bypasses the guard. */
  passes(req: IncomingMessage): boolean;
  /** Returns the entity of the request: all values of the parameter. */
  entity(req: IncomingMessage): unknown;
  /** Returns the request from which the keyring reads the credential. */
  request(req: IncomingMessage): unknown;
  admit(
    setup: AdapterSetup,
    request: unknown,
    input: AdmissionInput,
    req: IncomingMessage,
  ): Promise<Admission>;
  /** Answers an error or rethrows it; `null` lets the request in. */
  deny(error: unknown, setup: AdapterSetup, req: IncomingMessage): DenialResponse | null;
  handle(setup: AdapterSetup, admission: Admission): Promise<string>;
  /** Answers any other error. */
  fail(res: ServerResponse, error: unknown, setup: AdapterSetup): unknown;
}

export function challengeOf({ realm, resourceMetadata }: AdapterSetup) {
  return { realm, resourceMetadata };
}

/** Returns all values of the query parameter `entity`. */
export function entitiesOf(req: IncomingMessage): string[] {
  return queryOf(req).getAll('entity');
}

export function queryOf(req: IncomingMessage): URLSearchParams {
  return new URL(req.url ?? '/', 'http://localhost').searchParams;
}

export function admit(
  { keyring }: AdapterSetup,
  request: unknown,
  input: AdmissionInput,
): Promise<Admission> {
  return keyring.admit(request as IncomingMessage, { ...input });
}

export const RIGHT: AdapterParts = {
  declare(setup, operation) {
    if (!setup.keyring?.admit) throw new TypeError('pass a keyring');
    toResponse(undefined, challengeOf(setup));
    setup.keyring.policy.requires(operation);
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
  handle: async ({ handle }, { principal, entityId }) => handle(principal, entityId),
  fail: (res) => res.writeHead(500).end(),
};

/** Serves the correct adapter with the parts that `change` replaces. */
export function serveWith(change: () => Partial<AdapterParts>): ServeAdapter {
  return async (setup) => {
    // New parts for each app, because tests run in parallel.
    const parts = { ...RIGHT, ...change() };
    parts.declare(setup, 'whoami');
    parts.declare(setup, 'readReports');
    // Large enough for the overlong credential.
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
  let admission = { principal: {}, entityId: '' } as Admission;
  try {
    const entityId = operation === 'readReports' ? parts.entity(req) : undefined;
    if (!parts.passes(req)) {
      const input = { operation, entityId } as const;
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
