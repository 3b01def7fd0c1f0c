/** JSON-RPC messages, and the tool calls among them. */

/**
 * The SDKs refuse longer batches. Without a limit, one request could emit tens of thousands of
 * events.
 */
const MAX_MESSAGES = 100;

/** A tool call as the message has it. Both fields are unchecked. */
export interface ToolCall {
  readonly name: string;
  readonly args: Fields;
}

/** The fields of a JSON value. */
type Fields = Readonly<Record<string, unknown>>;

const NO_FIELDS: Fields = Object.freeze({});

/**
 * Reads one message or a batch. Not checked: whether it is JSON-RPC; the SDK does that.
 *
 * @returns `undefined` if the text is not JSON, or if there are too many messages.
 */
export function parseMessages(text: string): unknown {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  const isTooLong = Array.isArray(body) && body.length > MAX_MESSAGES;
  return isTooLong ? undefined : body;
}

/**
 * Returns the tool calls of one message or of a batch. The SDKs do not accept a nested batch, and
 * neither does this.
 */
export function toolCallsOf(body: unknown): readonly ToolCall[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  const calls: ToolCall[] = [];
  for (const message of messages) {
    const { method, params } = fieldsOf(message);
    const { name, arguments: args } = fieldsOf(params);
    if (method !== 'tools/call' || typeof name !== 'string') continue;
    calls.push({ name, args: fieldsOf(args) });
  }
  return calls;
}

/** Returns no fields for a value that is not an object; the SDK refuses it if one is needed. */
function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : NO_FIELDS;
}
