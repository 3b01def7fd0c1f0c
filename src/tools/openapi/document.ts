/**
 * Reads the parts of an OpenAPI 3.1 document that matter for security. It rejects anything unknown,
 * because an operation that it overlooks would stay unsecured.
 */
import { assert, isObject } from '../../core/input.js';
import { toJson } from '../escape.js';

/** A part of a document. It is our own copy of the JSON, which we may change. */
export type Json = Record<string, unknown>;

/** A document and the fields that we read or write. */
export interface WrittenDocument extends Json {
  openapi?: unknown;
  swagger?: unknown;
  components?: unknown;
}

/** An operation and the fields that we read or write. */
export interface WrittenOperation extends Json {
  operationId?: unknown;
  security?: unknown;
  responses?: unknown;
}

/** The place of an operation in a document. */
export interface DocumentOperation {
  /** In upper case, such as `GET`. */
  readonly method: string;
  /** As written in the document, such as `/threats/{id}`. */
  readonly path: string;
  /** The `operationId` of the document, if any. */
  readonly operationId: string | undefined;
}

/**
 * Returns the name that an operation of the document has in the policy, or `undefined` if it has
 * none. `written` is the operation in the document, including extensions such as `x-operation`.
 */
export type OperationOf = (
  operation: DocumentOperation,
  written: Readonly<Record<string, unknown>>,
) => string | undefined;

/** An operation and its place in the document. */
export interface FoundOperation {
  readonly place: DocumentOperation;
  readonly written: WrittenOperation;
}

/** The fields of a path item that are operations (OpenAPI 3.1 §4.8.9), and their methods. */
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
/** The other fields that a path item may have. */
const OTHER_FIELDS = ['summary', 'description', 'servers', 'parameters'];

/**
 * Copies a document. Throws on other versions: in 3.0, a bearer scheme must have an empty list, so
 * it cannot name scopes (3.0 §4.8.30, 3.1 §4.8.30).
 */
export function readDocument(document: unknown, what: string): WrittenDocument {
  const copy = copyOf(document, what);
  const version = JSON.stringify(copy.openapi ?? copy.swagger ?? null);
  const problem = `${what}: the version of the document is ${version.slice(0, 20)}`;
  const advice = 'Pass OpenAPI 3.1. In 3.0, a bearer scheme cannot have scopes';
  assert(/^"3\.1\.\d+"$/.test(version), `${problem}. ${advice}`);
  return copy;
}

/** Copies a document through JSON, which drops or rejects values that are not JSON. */
export function copyOf(document: unknown, what: string): WrittenDocument {
  const instead = `${what}: the document is not JSON. Pass an object without cycles`;
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

/** Returns an object inside a document, or an empty object if it is missing. */
export function objectAt(parent: Json, name: string, what: string): Json {
  const value = Object.hasOwn(parent, name) ? parent[name] : {};
  assert(isObject(value), `${what}: ${name} must be an object`);
  return value as Json;
}

/** Returns every operation under `paths`, in the order of the document. Ignores webhooks. */
export function operationsIn(document: WrittenDocument, what: string): readonly FoundOperation[] {
  const paths = objectAt(document, 'paths', what);
  const names = Object.keys(paths).filter((name) => !name.startsWith('x-'));
  return names.flatMap((path) => operationsAt(path, objectAt(paths, path, what), what));
}

/** Throws on unknown fields, because a misspelt one could hide an operation. */
function operationsAt(path: string, item: Json, what: string): readonly FoundOperation[] {
  const where = `${what}: ${toJson(path)}`;
  assert(path.startsWith('/'), `${where}: start the path with "/"`);
  assert(!Object.hasOwn(item, '$ref'), `${where} is a $ref. Bundle the document first`);
  const found: FoundOperation[] = [];
  for (const field of Object.keys(item)) {
    const method = METHODS.get(field);
    const isKnown = method !== undefined || OTHER_FIELDS.includes(field) || field.startsWith('x-');
    assert(isKnown, `${where} has the unknown field ${toJson(field)}. Write methods in lower case`);
    if (method === undefined) continue;
    const written: WrittenOperation = objectAt(item, field, what);
    const { operationId } = written;
    const id = typeof operationId === 'string' ? operationId : undefined;
    found.push({ place: { method, path, operationId: id }, written });
  }
  return found;
}

/** Returns the name of an operation for a message. */
export function show({ method, path, operationId }: DocumentOperation): string {
  const place = toJson(`${method} ${path}`);
  return operationId === undefined ? place : `${place} (${toJson(operationId)})`;
}
