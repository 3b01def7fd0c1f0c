/** A correct adapter for fetch, and functions that run the contract's tests one by one. */
import { isAccessError, isStoreError, toResponse } from 'keyscope';
import { type AdapterSetup, adapterContract, type ServeAdapter } from 'keyscope/testing';

/** Changes an adapter's answers. */
export type ChangeAnswer = (answer: Response, request: Request) => Response | Promise<Response>;

// Names of the contract's tests.
export const NONE = 'denies a missing credential with exactly the bytes of toResponse';
export const LET_IN = 'lets in a key with the scope and passes on its principal and entity';
export const LONG = 'denies a credential of more than 16 KiB';
export const BUGS = 'lets nobody in after a bug and does not report it as a denial';
export const HEAD = 'denies HEAD like GET, without a body';

/** Serves a correct adapter, whose answers `change` may change. */
export function serveWith(change: ChangeAnswer = (answer) => answer): ServeAdapter {
  return (setup) => {
    const { keyring } = setup;
    if (!keyring?.admit) throw new TypeError('pass a keyring');
    toResponse(undefined, challengeOf(setup));
    keyring.policy.requires('whoami');
    keyring.policy.requires('readReports');
    return { fetch: async (request: Request) => change(await respond(setup, request), request) };
  };
}

function challengeOf({ realm, resourceMetadata }: AdapterSetup) {
  return { realm, resourceMetadata };
}

async function respond(setup: AdapterSetup, request: Request): Promise<Response> {
  let admission: Awaited<ReturnType<typeof admit>>;
  try {
    admission = await admit(setup, request);
  } catch (error) {
    return answerError(setup, request, error);
  }
  try {
    const text = setup.handle(admission.principal, admission.entityId);
    return new Response(text, { headers: { 'Cache-Control': 'no-store' } });
  } catch {
    return new Response(null, { status: 500 });
  }
}

async function admit({ keyring }: AdapterSetup, request: Request) {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname === '/whoami') return keyring.admit(request, { operation: 'whoami' });
  const entityId = searchParams.getAll('entity');
  return keyring.admit(request, { operation: 'readReports', entityId });
}

function answerError(setup: AdapterSetup, { method }: Request, error: unknown): Response {
  if (!isAccessError(error) && !isStoreError(error)) return new Response(null, { status: 500 });
  const { status, headers, body } = toResponse(error, challengeOf(setup));
  return new Response(method === 'HEAD' ? null : body, { status, headers });
}

/** Serves a correct adapter in a framework that sees thrown values before the adapter does. */
export function serveIn(framework: (thrown: unknown) => Promise<never>): ServeAdapter {
  return (setup) => {
    const admit: typeof setup.keyring.admit = (...given) =>
      setup.keyring.admit(...given).catch(framework);
    return serveWith()({ ...setup, keyring: { ...setup.keyring, admit } });
  };
}

/** The tests of the contract by name. */
export function testsOf(serve: ServeAdapter): ReadonlyMap<string, () => Promise<void>> {
  const tests = new Map<string, () => Promise<void>>();
  adapterContract((name, run) => tests.set(name, run), serve);
  return tests;
}

/** Runs one test of the contract. */
export function runOf(serve: ServeAdapter, name: string): Promise<void> {
  return testsOf(serve).get(name)?.() ?? Promise.reject(new Error('no such test'));
}
