/** The table of all endpoints. Both the routing and the OpenAPI document use it. */
import { AccessError } from '../core/errors.js';
import type { ManagementAction } from '../core/events.js';
import { answerJson, answerNothing } from '../http/answer.js';
import type { GrantAuthority } from '../management/authority.js';
import type { IssuedKey, KeyInfo } from '../management/info.js';
import type { Keyring } from '../management/keyring.js';
import type { JsonSchema } from '../schemas/json-schema.js';
import {
  type Input,
  ISSUE_INPUT,
  ISSUE_KEYLESS_INPUT,
  LIST_INPUT,
  NO_INPUT,
  REASON_INPUT,
  ROTATE_INPUT,
} from './inputs.js';

/** The operation of a request. The OpenAPI document uses these as `operationId`s. */
export type KeyAdminOperation =
  | 'listKeys'
  | 'issueKey'
  | 'issueKeylessKey'
  | 'getKey'
  | 'rotateKey'
  | 'suspendKey'
  | 'resumeKey'
  | 'revokeKey'
  | 'revokeKeyLineage'
  | 'withdrawFromKey';

/** The methods of a keyring that the endpoints use. Pass the result of `createKeyring`. */
export type AdminKeyring = Pick<Keyring, ManagementAction>;

/** A call of an endpoint. */
export interface Call {
  readonly keyring: AdminKeyring;
  readonly authority: GrantAuthority;
  /** The key id from the path, unchecked; empty if the path does not have one. */
  readonly keyId: string;
  readonly basePath: string;
}

/** An endpoint. */
export interface Route {
  readonly operation: KeyAdminOperation;
  /** `GET` reads its input from the query, `POST` from the body. */
  readonly method: 'GET' | 'POST';
  /**
   * The path below the base path. Its only parameter is `{keyId}`, the first segment. A path
   * without it goes before.
   */
  readonly path: string;
  readonly summary: string;
  /** The input: its name in the OpenAPI document, and its JSON Schema. */
  readonly input: { readonly name: string; readonly json: JsonSchema };
  readonly status: 200 | 201 | 204;
  /** The name of the answer in the OpenAPI document; null without a body. */
  readonly answer:
    | 'KeyPage'
    | 'KeyOrDamagedKey'
    | 'NewKey'
    | 'NewKeylessKey'
    | 'RevokedKeys'
    | null;
  /** Whether the state of the key may forbid it. */
  readonly conflicts: boolean;
  /** Runs the operation. @throws InputError, and the errors of the keyring. */
  readonly run: (call: Call, sent: unknown) => Promise<Response>;
}

/** A route before its input is read. */
interface Described<T> extends Omit<Route, 'input' | 'run'> {
  readonly input: Input<T>;
  readonly run: (call: Call, input: T) => Promise<Response>;
}

function route<T>(described: Described<T>): Route {
  const { input, run } = described;
  return { ...described, run: (call, sent) => run(call, input.read(sent)) };
}

/** A method that marks a key and takes a reason. */
type Marking = 'suspend' | 'resume' | 'revoke' | 'withdraw';

function markingRoute(
  operation: KeyAdminOperation,
  action: Marking,
  described: Pick<Route, 'summary' | 'conflicts'>,
): Route {
  return route({
    ...described,
    operation,
    method: 'POST',
    path: `/{keyId}/${action}`,
    input: REASON_INPUT,
    status: 204,
    answer: null,
    async run({ keyring, authority, keyId }, { reason }) {
      await keyring[action](keyId, withReason(authority, reason));
      return answerNothing();
    },
  });
}

/** Uses the reason of the request, if it has one, instead of the service's. */
function withReason(authority: GrantAuthority, reason: string | undefined): GrantAuthority {
  return reason === undefined ? authority : { ...authority, reason };
}

/** The default base path. */
export const DEFAULT_BASE_PATH = '/keys';

export const ROUTES: readonly Route[] = [
  route({
    operation: 'listKeys',
    method: 'GET',
    path: '',
    summary: 'List keys, newest first: your own, or those of others that address your entity.',
    input: LIST_INPUT,
    status: 200,
    answer: 'KeyPage',
    conflicts: false,
    async run({ keyring, authority }, input) {
      return answerJson(200, await keyring.list(input, authority));
    },
  }),
  route({
    operation: 'issueKey',
    method: 'POST',
    path: '',
    summary: 'Create a key. Only this answer shows it.',
    input: ISSUE_INPUT,
    status: 201,
    answer: 'NewKey',
    conflicts: false,
    async run({ keyring, authority, basePath }, input) {
      return answerNewKey(basePath, await keyring.issue(input, authority));
    },
  }),
  route({
    operation: 'issueKeylessKey',
    method: 'POST',
    path: '/keyless',
    summary: 'Create a key without a secret. Its `trust` says who may act as it.',
    input: ISSUE_KEYLESS_INPUT,
    status: 201,
    answer: 'NewKeylessKey',
    conflicts: false,
    async run({ keyring, authority, basePath }, input) {
      const { info } = await keyring.issueKeyless(input, authority);
      return answerJson(201, { info }, locationOf(basePath, info));
    },
  }),
  route({
    operation: 'getKey',
    method: 'GET',
    path: '/{keyId}',
    summary: 'Read the record of a key.',
    input: NO_INPUT,
    status: 200,
    answer: 'KeyOrDamagedKey',
    conflicts: false,
    async run({ keyring, authority, keyId }) {
      const info = await keyring.get(keyId, authority);
      if (info === null) throw new AccessError('not_found', 'no_such_key');
      return answerJson(200, info);
    },
  }),
  route({
    operation: 'rotateKey',
    method: 'POST',
    path: '/{keyId}/rotate',
    summary: 'Replace a live key with one of the same rights or fewer. Only this answer shows it.',
    input: ROTATE_INPUT,
    status: 201,
    answer: 'NewKey',
    conflicts: true,
    async run({ keyring, authority, keyId, basePath }, input) {
      return answerNewKey(basePath, await keyring.rotate(keyId, input, authority));
    },
  }),
  markingRoute('suspendKey', 'suspend', {
    summary: 'Suspend a key until it is resumed.',
    conflicts: true,
  }),
  markingRoute('resumeKey', 'resume', { summary: 'Resume a suspended key.', conflicts: true }),
  markingRoute('revokeKey', 'revoke', {
    summary: 'Revoke a key, at once and for good.',
    conflicts: false,
  }),
  route({
    operation: 'revokeKeyLineage',
    method: 'POST',
    path: '/{keyId}/revoke-lineage',
    summary: 'Revoke a leaked key, its rotations, and the keys that they issued.',
    input: REASON_INPUT,
    status: 200,
    answer: 'RevokedKeys',
    conflicts: true,
    async run({ keyring, authority, keyId }, { reason }) {
      const revoked = await keyring.revokeLineage(keyId, withReason(authority, reason));
      return answerJson(200, { revoked });
    },
  }),
  markingRoute('withdrawFromKey', 'withdraw', {
    summary: "Withdraw your entity from another entity's key, for good.",
    conflicts: false,
  }),
];

/** Returns the answer with a new key. It names `key`, which JSON of the result would leave out. */
function answerNewKey(basePath: string, { key, info }: IssuedKey): Response {
  return answerJson(201, { key, info }, locationOf(basePath, info));
}

function locationOf(basePath: string, { keyId }: KeyInfo): Readonly<Record<string, string>> {
  return { Location: `${basePath}/${keyId}` };
}

/** The routes of a path, one for each method. */
export interface Found {
  readonly routes: readonly Route[];
  readonly keyId: string;
}

/** @param path The path below the base path. */
export function findRoutes(path: string): Found {
  const fixed = ROUTES.filter((each) => each.path === path);
  const [, keyId = '', ...rest] = path.split('/');
  if (fixed.length > 0 || keyId === '') return { routes: fixed, keyId: '' };
  const template = ['', '{keyId}', ...rest].join('/');
  return { routes: ROUTES.filter((each) => each.path === template), keyId };
}
