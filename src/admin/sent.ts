/** Reads the query parameters and the JSON body of a request. */
import type { Problem } from '../http/answer.js';
import { readBody } from '../http/body.js';
import { requireBody } from '../http/fetch-handler.js';
import { ShownInputError } from '../schemas/closed-object.js';

/**
 * More than any valid input needs: 73 kB of JSON for 1,000 entities and 256 scopes, at most 42 kB
 * for texts and metadata with every character escaped, and 4 KiB for a trust as JSON writes it.
 */
const MAX_BODY_BYTES = 128 * 1024;

/**
 * The essence is everything before the first semicolon, and must match as a whole. Otherwise a page
 * could send `text/plain; application/json`, which is `text/plain`, without asking first.
 */
const JSON_TYPE = /^application\/json[ \t]*(?:;|$)/i;

/** A mistake of the service, which its developer must see at the first request. */
const READ_BEFORE: Problem = {
  status: 500,
  detail:
    'A body parser in front of the key endpoints has read the body. In the server, pass it on ' +
    'with admin(request, { parsedBody: req.body }), or mount the endpoints before the parser.',
};

/** Checks whether the body is declared as JSON. */
export function isJson({ headers }: Request): boolean {
  return JSON_TYPE.test(headers.get('content-type') ?? '');
}

/** The value of a repeated parameter. No schema accepts a list. */
const REPEATED: readonly string[] = [];

/** Returns the parameters by name. Not checked: whether the names are known. */
export function readQuery(parameters: URLSearchParams): object {
  const found = new Map<string, unknown>();
  for (const [name, text] of parameters) found.set(name, found.has(name) ? REPEATED : text);
  // `fromEntries` defines properties, so no name reaches a prototype.
  return Object.fromEntries(found);
}

/**
 * Reads the body, up to a limit, or returns the parsed one. Not checked: duplicate names in an
 * object, of which the last one counts.
 *
 * @throws ShownInputError if the body is not JSON or breaks off.
 * @throws Refusal if it is too long, or if something else has read it.
 */
export async function readJson(request: Request, parsedBody: unknown): Promise<unknown> {
  if (parsedBody !== undefined) return parsedBody;
  const read = await readBody(request, MAX_BODY_BYTES).catch(refuseBrokenOff);
  const text = requireBody(read, READ_BEFORE);
  try {
    return JSON.parse(text);
  } catch {
    throw new ShownInputError('input', 'send a JSON object');
  }
}

/** The client broke off the body, which is not an error of the service. */
function refuseBrokenOff(): never {
  throw new ShownInputError('input', 'the body broke off');
}
