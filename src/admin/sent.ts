/** What a request sends: the parameters of its query, and its body as JSON. */
import { readBody } from '../http/body.js';
import { requireBody } from '../http/fetch-handler.js';
import { ShownInputError } from '../schemas/closed-object.js';

/**
 * Longer than any input that is accepted: 1,000 entities and 256 scopes take 73 kB of JSON, texts
 * and metadata 42 at most, with every character escaped.
 */
const MAX_BODY_BYTES = 128 * 1024;

/**
 * The essence is the whole of what stands before a semicolon, so that no page can send it without
 * being asked: of `text/plain; application/json` it is `text/plain`.
 */
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;

/** Whether a body says that it is JSON. */
export function isJson({ headers }: Request): boolean {
  return JSON_TYPE.test(headers.get('content-type') ?? '');
}

/** Stands for a parameter that was sent more than once: no schema takes a list. */
const REPEATED: readonly string[] = [];

/** The parameters by name. Not checked: which there may be. */
export function readQuery(parameters: URLSearchParams): object {
  const found = new Map<string, unknown>();
  for (const [name, text] of parameters) found.set(name, found.has(name) ? REPEATED : text);
  // `fromEntries` defines properties, so no name reaches a prototype.
  return Object.fromEntries(found);
}

/**
 * Reads the body, up to a limit, unless it was handed over. Not checked: whether a name is there
 * twice in one object, of which the last one counts.
 *
 * @throws ShownInputError if it is no JSON or breaks off.
 * @throws Refusal if it is too long, or if somebody else has read it.
 */
export async function readJson(request: Request, parsedBody: unknown): Promise<unknown> {
  if (parsedBody !== undefined) return parsedBody;
  const read = await readBody(request, MAX_BODY_BYTES).catch(refuseBrokenOff);
  const text = requireBody(read, 'read_before_admin');
  try {
    return JSON.parse(text);
  } catch {
    throw new ShownInputError('input', 'send a JSON object');
  }
}

/** The client has gone; whatever its stream says is no fault of the service. */
function refuseBrokenOff(): never {
  throw new ShownInputError('input', 'the body broke off');
}
