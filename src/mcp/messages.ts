/** Reads JSON-RPC messages and finds the tool calls among them. */

/**
 * The SDKs reject longer batches. Without a limit, one request could emit tens of thousands of
 * events.
 */
const MAX_MESSAGES = 100;

/** An unchecked tool call. The name may be any value. */
export interface ToolCall {
  readonly name: unknown;
  readonly args: Fields;
}

/** The fields of a JSON value. */
type Fields = Readonly<Record<string, unknown>>;

const NO_FIELDS: Fields = Object.freeze({});

/**
 * Parses one message or a batch. Returns `undefined` if the text is not JSON. Not checked: whether
 * it is JSON-RPC, which the SDK checks.
 */
export function parseMessage(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Whether a batch has too many messages. */
export function isTooLong(body: unknown): boolean {
  return Array.isArray(body) && body.length > MAX_MESSAGES;
}

/**
 * Returns the tool calls of one message or a batch. It ignores nested batches, which the SDKs
 * reject.
 */
export function toolCallsOf(body: unknown): readonly ToolCall[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  const calls: ToolCall[] = [];
  for (const message of messages) {
    const { method, params } = fieldsOf(message);
    const { name, arguments: args } = fieldsOf(params);
    if (method === 'tools/call') calls.push({ name, args: fieldsOf(args) });
  }
  return calls;
}

/** Returns the id of a single request; `undefined` for a batch or a notification. */
export function requestIdOf(body: unknown): string | number | undefined {
  const { id } = fieldsOf(body);
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/** Returns no fields for a value that is not an object, which the SDK rejects if it matters. */
function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : NO_FIELDS;
}
