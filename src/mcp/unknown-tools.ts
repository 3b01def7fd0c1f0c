/** Tells of calls of tools that the gate was not told of, which nobody may have noticed. */
import { AccessError, isAccessError } from '../core/errors.js';
import type { EventContext } from '../core/events.js';
import type { Policy } from '../core/policy.js';
import type { Principal } from '../core/principal.js';
import { answerJson, answerRefusal, detailOf } from '../http/answer.js';
import type { GateConfig } from './gate-options.js';
import type { ToolCall } from './messages.js';

/** No policy has this operation: it is the method of MCP, for which there is no tool. */
const OPERATION = 'tools/call';

const DENIAL = new AccessError('not_found', 'unknown_tool');

/**
 * Emits the event of each call. The policy has no operation for such a tool, so the keyring is
 * handed one that refuses. The tool's name is whatever a client wrote, so it stands in the context,
 * where it is cut and keys in it are masked.
 *
 * @throws StoreError if the keyring's clock is broken.
 */
export async function tellUnknownTools(
  { keyring, policy }: Pick<GateConfig, 'keyring' | 'policy'>,
  principal: Principal,
  calls: readonly ToolCall[],
  context: EventContext | undefined,
): Promise<void> {
  const refusing: Policy = { ...policy, requires: () => [], authorize: refuse };
  for (const { name } of calls) {
    const said = describe(name, context);
    const input = { policy: refusing, operation: OPERATION, context: said };
    await keyring.admit(() => principal, input).catch(dropDenial);
  }
}

function refuse(): never {
  throw DENIAL;
}

function describe(name: unknown, context: EventContext | undefined): EventContext {
  const tool = typeof name === 'string' ? name : `no text, but of type ${typeof name}`;
  try {
    // The first texts are those that are kept, and the last of one name is.
    return Object.assign({ tool }, context, { tool });
  } catch {
    // A getter that throws, such as that of an address whose connection is gone.
    return { tool };
  }
}

/** The gate answers with a denial of its own. */
function dropDenial(error: unknown): void {
  if (!isAccessError(error)) throw error;
}

/** "Invalid params", which MCP asks for in answers to calls of unknown tools. */
const INVALID_PARAMS = -32_602;

/**
 * Answers a call of a tool that the gate was not told of. A single request gets the JSON-RPC error
 * that the SDK would answer, because a client of a model shows that to the model; a batch, and a
 * message that expects no answer, get a status.
 */
export function answerUnknownTool(id: string | number | undefined): Response {
  if (id === undefined) return answerRefusal('unknown_tool');
  const message = `Unknown tool. ${detailOf('unknown_tool')}`;
  return answerJson(200, { jsonrpc: '2.0', id, error: { code: INVALID_PARAMS, message } });
}
