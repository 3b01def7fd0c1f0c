/** JSON-RPC messages, and the tool calls among them. */

/**
 * The SDKs refuse longer batches. Without a limit, one request could emit tens of thousands of
 * events.
 */
const MAX_MESSAGES = 100;

/** A tool call as the message has it. Unchecked: the name may be anything. */
export interface ToolCall {
  readonly name: unknown;
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
  return isTooLong(body) ? undefined : body;
}

/** Whether this is a batch of too many messages. */
export function isTooLong(body: unknown): boolean {
  return Array.isArray(body) && body.length > MAX_MESSAGES;
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
    if (method === 'tools/call') calls.push({ name, args: fieldsOf(args) });
  }
  return calls;
}

/** Returns the id of a single request; `undefined` for a batch, and for what expects no answer. */
export function requestIdOf(body: unknown): string | number | undefined {
  const { id } = fieldsOf(body);
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/** Returns no fields for a value that is not an object; the SDK refuses it if one is needed. */
function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : NO_FIELDS;
}
