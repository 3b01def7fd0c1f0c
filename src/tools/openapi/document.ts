/**
 * Reads an OpenAPI 3.1 document as far as security is concerned. What it does not know it refuses:
 * an operation that nobody sees would be one that nobody secures.
 */
import { assert, isObject } from '../../core/input.js';
import { toJson } from '../escape.js';

/** A part of a document: JSON, and a copy of our own that may be written to. */
export type Json = Record<string, unknown>;

/** A document, of which these fields are read or written. */
export interface WrittenDocument extends Json {
  openapi?: unknown;
  swagger?: unknown;
  components?: unknown;
}

/** An operation, of which these fields are read or written. */
export interface WrittenOperation extends Json {
  operationId?: unknown;
  security?: unknown;
  responses?: unknown;
}

/** Where an operation stands in a document. */
export interface DocumentOperation {
  /** In capitals: `GET`. */
  readonly method: string;
  /** As the document has it: `/threats/{id}`. */
  readonly path: string;
  /** `operationId`, if the document gives it one. */
  readonly operationId: string | undefined;
}

/**
 * Finds the name in the policy of an operation of the document, or `undefined` if it has none.
 * `written` is the operation as the document has it, with fields of your own such as `x-operation`.
 */
export type OperationOf = (
  operation: DocumentOperation,
  written: Readonly<Record<string, unknown>>,
) => string | undefined;

/** An operation with what the document says of it. */
export interface FoundOperation {
  readonly place: DocumentOperation;
  readonly written: WrittenOperation;
}

/** The operations that a path item may have (OpenAPI 3.1 §4.8.9), and their methods. */
const METHODS: ReadonlyMap<string, string> = new Map([
  ['get', 'GET'],
  ['put', 'PUT'],
  ['post', 'POST'],
  ['delete', 'DELETE'],
  ['options', 'OPTIONS'],
  ['head', 'HEAD'],
  ['patch', 'PATCH'],
  ['trace', 'TRACE'],
]);
/** What else it may have. */
const OTHER_FIELDS = ['summary', 'description', 'servers', 'parameters'];

/**
 * Copies a document. Refuses other versions: in 3.0 the list of a bearer scheme has to be empty, so
 * the scopes would have no place (3.0 §4.8.30, 3.1 §4.8.30).
 */
export function readDocument(document: unknown, what: string): WrittenDocument {
  const copy = copyOf(document, what);
  const version = JSON.stringify(copy.openapi ?? copy.swagger ?? null);
  const instead = `${what}: pass OpenAPI 3.1; before it, a bearer scheme has no scopes`;
  assert(/^"3\.1\.\d+"$/.test(version), `${instead}, and this is ${version.slice(0, 20)}`);
  return copy;
}

/** As it would be sent: whatever is no JSON is gone or refused. */
export function copyOf(document: unknown, what: string): WrittenDocument {
  const instead = `${what}: pass a document that is JSON, without circles`;
  assert(isObject(document), instead);
  let copy: unknown;
  try {
    copy = JSON.parse(JSON.stringify(document));
  } catch {
    throw new TypeError(instead);
  }
  assert(isObject(copy), instead);
  return copy as WrittenDocument;
}

/** An object inside a document: an empty one if it is missing. */
export function objectAt(parent: Json, name: string, what: string): Json {
  const value = Object.hasOwn(parent, name) ? parent[name] : {};
  assert(isObject(value), `${what}: ${name} has to be an object`);
  return value as Json;
}

/** Every operation under `paths`, in the order of the document. Not those of webhooks. */
export function operationsIn(document: WrittenDocument, what: string): readonly FoundOperation[] {
  const paths = objectAt(document, 'paths', what);
  const names = Object.keys(paths).filter((name) => !name.startsWith('x-'));
  return names.flatMap((path) => operationsAt(path, objectAt(paths, path, what), what));
}

/** Refuses fields that nobody knows: one that is misspelt would be an operation unseen. */
function operationsAt(path: string, item: Json, what: string): readonly FoundOperation[] {
  const where = `${what}: ${toJson(path)}`;
  assert(path.startsWith('/'), `${where}: a path begins with "/"`);
  assert(!Object.hasOwn(item, '$ref'), `${where} is written elsewhere; bundle the document first`);
  const found: FoundOperation[] = [];
  for (const field of Object.keys(item)) {
    const method = METHODS.get(field);
    const isKnown = method !== undefined || OTHER_FIELDS.includes(field) || field.startsWith('x-');
    assert(isKnown, `${where} has a field that is no method: ${toJson(field)}`);
    if (method === undefined) continue;
    const written: WrittenOperation = objectAt(item, field, what);
    const { operationId } = written;
    const id = typeof operationId === 'string' ? operationId : undefined;
    found.push({ place: { method, path, operationId: id }, written });
  }
  return found;
}

/** How an operation is named in a message. */
export function show({ method, path, operationId }: DocumentOperation): string {
  const place = toJson(`${method} ${path}`);
  return operationId === undefined ? place : `${place} (${toJson(operationId)})`;
}
