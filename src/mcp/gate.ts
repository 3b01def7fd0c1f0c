/** The HTTP gate of an MCP endpoint: admits a request, or answers it with a denial. */
import { parseAuthorization } from '../core/authorization.js';
import { toResponse } from '../core/challenge.js';
import { isAccessError, isStoreError, type StoreError } from '../core/errors.js';
import { assert } from '../core/input.js';
import type { Principal } from '../core/principal.js';
import { type RequestLike, readAuthorization } from '../core/request.js';
import { requireAudience } from './audience.js';
import { createAuthInfo, type McpAuthInfo } from './auth-info.js';
import { readBody } from './body.js';
import { type GateConfig, type McpGateOptions, readGateOptions } from './gate-options.js';
import { parseMessages, toolCallsOf } from './messages.js';
import { createRefusal } from './refusal.js';
import { sessionOwnerOf } from './session-owner.js';

/** An admitted caller. The SDK's handlers accept it as it is: `handler.fetch(request, entry)`. */
export interface McpEntry {
  readonly principal: Principal;
  readonly authInfo: McpAuthInfo;
  /**
   * The message that the gate checked. Pass it on, so that the SDK serves exactly this message: the
   * body of a POST has been read. `undefined` for other methods, whose body is not read: messages
   * are sent by POST.
   */
  readonly parsedBody: unknown;
  /**
   * The owner of the session if this request starts one: store it with the session id, for the
   * gate's `sessionOwner` option. For a key it is the key id. For a token it also contains the
   * token's scopes and entities: a session can replay its earlier results, so a token does not
   * share sessions with its key or with tokens that have other rights.
   */
  readonly sessionOwner: string;
}

/**
 * Admits a request, or answers it with a denial. Rejects if an error is neither a denial nor an
 * outage, and with a `TypeError` if the argument is not a fetch `Request`.
 */
export type McpGate = (request: Request) => Promise<McpEntry | Response>;

const NOT_A_REQUEST =
  'gate: pass a fetch Request (Hono: c.req.raw); on node:http, Express or Fastify let ' +
  'getRequestListener of @hono/node-server make one';

/**
 * Makes the HTTP gate of an MCP endpoint. It authenticates every request anew, with one look-up,
 * then reads the JSON-RPC message and admits each tool call by the policy, before the SDK sees it.
 * Denials are HTTP responses (MCP authorization, "Runtime insufficient scope errors"): 401, 400,
 * 403, 503, with `resource_metadata` in every challenge. Invalid JSON is 400, the session of
 * another caller 404, and a body that is too long 413. If one call of a batch is denied, the whole
 * batch is refused: the calls before it have events that say granted, but none of them is executed.
 * The body of an unauthenticated request is never read.
 *
 * Not checked: calls of tools that the policy does not have, which the SDK refuses; resources and
 * prompts, which `guardTool` guards within their handlers; completions, whose handlers do not know
 * who is calling; `Origin`, which the SDK or your server has to check; whether the key ends while
 * the body arrives, which the next request notices; streams that are open when a key ends, which
 * stay open until somebody closes them; whose tasks and replayed events (`Last-Event-ID`) a request
 * asks for. The SDK separates tasks only by session, and not at all without sessions, so give each
 * `sessionOwner` its own task store and event store.
 *
 * @throws TypeError if the policy does not have a tool, or on any other invalid configuration.
 * @example
 * const resource = 'https://api.example.com/mcp';
 * const gate = createMcpGate({ keyring, policy, tools, realm: 'acme', resource });
 * const entry = await gate(request);
 * return entry instanceof Response ? entry : handler.fetch(request, entry);
 */
export function createMcpGate<Operation extends string>(
  options: McpGateOptions<Operation>,
): McpGate {
  const config = readGateOptions(options);
  return async (request) => {
    assert(typeof request?.headers?.get === 'function', NOT_A_REQUEST);
    try {
      return await admitRequest(config, request);
    } catch (error) {
      if (!isAccessError(error) && !isStoreError(error)) throw error;
      if (isStoreError(error)) void reportOutage(config, error);
      const { status, headers, body } = toResponse(error, config.challenge);
      return new Response(body, { status, headers });
    }
  };
}

/** The caller does not await this: the answer does not depend on the listener. */
async function reportOutage({ onOutage }: GateConfig, error: StoreError): Promise<void> {
  try {
    await onOutage?.(error);
  } catch {
    // A broken listener is its owner's problem.
  }
}

async function admitRequest(config: GateConfig, request: Request): Promise<McpEntry | Response> {
  // 1. Who is calling? Authentication is complete before anything else is answered or read.
  const principal = await authenticateRequest(config, request);
  // 2. If the request names a session, is it the caller's own?
  const sessionOwner = sessionOwnerOf(principal);
  if (!(await isOwnSession(config, request, sessionOwner))) return createRefusal(404);
  // 3. What does it call? Messages come by POST. The body is read once, up to a limit, and the
  //    parsed message is passed on, so that nobody parses it differently.
  let parsedBody: unknown;
  if (request.method === 'POST') {
    const text = await readBody(request, config.maxBodyBytes);
    if (text === null) return createRefusal(413);
    parsedBody = parseMessages(text);
    if (parsedBody === undefined) return createRefusal(400);
  }
  // 4. Is the caller allowed to? Each call is admitted like a REST request, with event and usage.
  await admitToolCalls(config, principal, parsedBody);
  const authInfo = createAuthInfo(principal, config.resource);
  return Object.freeze({ principal, authInfo, parsedBody, sessionOwner });
}

/** Verifies the credential, with the only look-up of a request. */
async function authenticateRequest(config: GateConfig, request: Request): Promise<Principal> {
  const { keyring, policy, operation, resource } = config;
  // Read once, so that the keyring verifies the same lines whose audience was checked.
  const lines = readAuthorization(request) as RequestLike;
  const credential = parseAuthorization(lines);

  async function authenticate(): Promise<Principal> {
    if (credential.kind === 'bearer') requireAudience(credential.token, resource);
    // The keyring also denies requests without one bearer credential, and gives the reason.
    return keyring.authenticate(lines);
  }
  if (operation === undefined) return authenticate();
  const { principal } = await keyring.admit(authenticate, { policy, operation });
  return principal;
}

/** Whether the session is the caller's. True if none is named, or if transports are stateless. */
async function isOwnSession(
  config: GateConfig,
  request: Request,
  sessionOwner: string,
): Promise<boolean> {
  const sessionId = request.headers.get('mcp-session-id');
  if (sessionId === null || config.sessionOwner === undefined) return true;
  return (await config.sessionOwner(sessionId)) === sessionOwner;
}

/** Admits each call, in order; the first denial is thrown. */
async function admitToolCalls(
  config: GateConfig,
  principal: Principal,
  body: unknown,
): Promise<void> {
  const { keyring, policy, known, entityArgument } = config;
  const authenticate = (): Principal => principal;
  for (const { name, args } of toolCallsOf(body)) {
    if (!known.has(name)) continue;
    const entityUuid = args[entityArgument];
    await keyring.admit(authenticate, { policy, operation: name, entityUuid });
  }
}
