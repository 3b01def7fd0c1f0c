/** Reports and answers calls of tools that the gate does not know. */
import { AccessError, isAccessError } from '../core/errors.js';
import type { EventContext } from '../core/events.js';
import type { Principal } from '../core/principal.js';
import { answerJson, answerProblem, type Problem } from '../http/answer.js';
import type { McpKeyring } from './gate-options.js';
import type { ToolCall } from './messages.js';

/** The operation in the events: the method of MCP, which no policy has as an operation. */
const OPERATION = 'tools/call';

const UNKNOWN_TOOL: Problem = {
  status: 400,
  detail: 'The server has no such tool, or did not name it to its gate.',
};

/**
 * Emits an event for each call. The policy has no operation for such a tool, so the authenticator
 * denies. The name of the tool comes from the client, so it goes into the context, which cuts it
 * and masks keys.
 *
 * @throws StoreError if the keyring's clock is broken.
 */
export async function tellUnknownTools(
  keyring: McpKeyring,
  { keyId, entityId }: Principal,
  calls: readonly ToolCall[],
  context: EventContext | undefined,
): Promise<void> {
  function refuse(): never {
    throw new AccessError('not_found', 'unknown_tool', { keyId });
  }

  for (const { name } of calls) {
    const input = { operation: OPERATION, entityId, context: describe(name, context) };
    await keyring.admit(refuse, input).catch(dropDenial);
  }
}

function describe(name: unknown, context: EventContext | undefined): EventContext {
  const tool = typeof name === 'string' ? name : `no text, but of type ${typeof name}`;
  try {
    // `tool` comes first, because the context keeps the first texts, and again last, to win.
    return Object.assign({ tool }, context, { tool });
  } catch {
    // A getter of the context threw, for example for the address of a closed connection.
    return { tool };
  }
}

/** Ignores denials, because the gate sends its own answer. */
function dropDenial(error: unknown): void {
  if (!isAccessError(error)) throw error;
}

/** "Invalid params", the code that MCP requires for unknown tools. */
const INVALID_PARAMS = -32_602;

/**
 * Answers a call of an unknown tool. A single request gets the JSON-RPC error of the SDK, because
 * clients show it to the model. A batch, and a message that expects no answer, get a status.
 */
export function answerUnknownTool(id: string | number | undefined): Response {
  if (id === undefined) return answerProblem(UNKNOWN_TOOL);
  const message = `Unknown tool. ${UNKNOWN_TOOL.detail}`;
  return answerJson(200, { jsonrpc: '2.0', id, error: { code: INVALID_PARAMS, message } });
}
