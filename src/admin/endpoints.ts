/** Every endpoint, once: the table that routes requests and makes the OpenAPI document. */
import { AccessError, isAccessError } from '../core/errors.js';
import { answerJson, answerNothing, answerRefusal } from '../http/answer.js';
import type { GrantAuthority } from '../management/authority.js';
import type { DamagedKey, IssuedKey, KeyInfo } from '../management/info.js';
import type { IssueInput } from '../management/issue.js';
import type { AddressedKey, ListInput, ListPage } from '../management/list.js';
import type { RotateInput } from '../management/rotate.js';
import type { JsonSchema } from '../schemas/json-schema.js';
import {
  type Input,
  ISSUE_INPUT,
  LIST_INPUT,
  NO_INPUT,
  REASON_INPUT,
  ROTATE_INPUT,
} from './inputs.js';

/** What a request does. The `operationId`s of the OpenAPI document. */
export type KeyAdminOperation =
  | 'listKeys'
  | 'issueKey'
  | 'getKey'
  | 'rotateKey'
  | 'suspendKey'
  | 'resumeKey'
  | 'revokeKey'
  | 'revokeKeyLineage'
  | 'withdrawFromKey';

/** What this entry needs of a keyring; pass the one that `createKeyring` returned. */
export interface AdminKeyring {
  /** Makes a key. */
  issue(input: IssueInput, authority: GrantAuthority): Promise<IssuedKey>;
  /** Replaces a key by one with the same rights or fewer. */
  rotate(keyId: string, input: RotateInput, authority: GrantAuthority): Promise<IssuedKey>;
  /** Ends a key at once and for good. */
  revoke(keyId: string, authority: GrantAuthority): Promise<void>;
  /** Revokes a key with all that it was rotated from and to; returns their ids. */
  revokeLineage(keyId: string, authority: GrantAuthority): Promise<readonly string[]>;
  /** Takes a key out of use until `resume`. */
  suspend(keyId: string, authority: GrantAuthority): Promise<void>;
  /** Ends a suspension. */
  resume(keyId: string, authority: GrantAuthority): Promise<void>;
  /** Cuts the authority's entity off from another entity's key. */
  withdraw(keyId: string, authority: GrantAuthority): Promise<void>;
  /** Returns one page of keys, newest first. */
  list(
    input: ListInput | undefined,
    authority: GrantAuthority,
  ): Promise<ListPage<KeyInfo | AddressedKey>>;
  /** Returns one key, or `null` if the authority's entity has none with this id. */
  get(keyId: string, authority: GrantAuthority): Promise<KeyInfo | DamagedKey | null>;
}

/** Who asks for what. */
export interface Call {
  readonly keyring: AdminKeyring;
  readonly authority: GrantAuthority;
  /** Of the path, unchecked; empty if the path has none. */
  readonly keyId: string;
  readonly basePath: string;
}

/** An endpoint. */
export interface Route {
  readonly operation: KeyAdminOperation;
  /** `GET` reads its input from the query, `POST` from the body. */
  readonly method: 'GET' | 'POST';
  /** Below the base path. The only segment that varies is `{keyId}`, which is the first. */
  readonly path: string;
  readonly summary: string;
  /** The name of what is sent in the OpenAPI document, and its JSON Schema. */
  readonly input: { readonly name: string; readonly json: JsonSchema };
  readonly status: 200 | 201 | 204;
  /** The name of what is answered in the OpenAPI document; null for nothing. */
  readonly answer: 'KeyPage' | 'KeyOrDamagedKey' | 'NewKey' | 'RevokedKeys' | null;
  /** Whether the state of the key may forbid it. */
  readonly conflicts: boolean;
  /** Does it. @throws InputError, and whatever the keyring throws. */
  readonly run: (call: Call, sent: unknown) => Promise<Response>;
}

/** A route whose input was read. */
interface Described<T> extends Omit<Route, 'input' | 'run'> {
  readonly input: Input<T>;
  readonly run: (call: Call, input: T) => Promise<Response>;
}

function route<T>(described: Described<T>): Route {
  const { input, run } = described;
  return { ...described, run: (call, sent) => run(call, input.read(sent)) };
}

/** What marks a key, and is told why. */
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

/** What the request gives as a reason comes before what the service does. */
function withReason(authority: GrantAuthority, reason: string | undefined): GrantAuthority {
  return reason === undefined ? authority : { ...authority, reason };
}

/** Where the endpoints are mounted unless an option says otherwise. */
export const DEFAULT_BASE_PATH = '/keys';

export const ROUTES: readonly Route[] = [
  route({
    operation: 'listKeys',
    method: 'GET',
    path: '',
    summary: 'List keys, newest first: the own ones, or those of others that address the entity.',
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
    summary: 'Make a key. This answer alone shows it.',
    input: ISSUE_INPUT,
    status: 201,
    answer: 'NewKey',
    conflicts: false,
    async run({ keyring, authority, basePath }, input) {
      return answerNewKey(basePath, await keyring.issue(input, authority));
    },
  }),
  route({
    operation: 'getKey',
    method: 'GET',
    path: '/{keyId}',
    summary: 'Read what is known of a key.',
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
    summary: 'Replace a live key by one with the same rights or fewer. This answer alone shows it.',
    input: ROTATE_INPUT,
    status: 201,
    answer: 'NewKey',
    conflicts: true,
    async run({ keyring, authority, keyId, basePath }, input) {
      try {
        return answerNewKey(basePath, await keyring.rotate(keyId, input, authority));
      } catch (error) {
        // The predecessor's credential, not the caller's: a 401 would sign a person out.
        const isNotLive = isAccessError(error) && error.code === 'invalid_token';
        if (isNotLive) return answerRefusal('not_live');
        throw error;
      }
    },
  }),
  markingRoute('suspendKey', 'suspend', {
    summary: 'Take a key out of use until it is resumed.',
    conflicts: true,
  }),
  markingRoute('resumeKey', 'resume', { summary: 'End a suspension.', conflicts: true }),
  markingRoute('revokeKey', 'revoke', {
    summary: 'End a key at once and for good.',
    conflicts: false,
  }),
  route({
    operation: 'revokeKeyLineage',
    method: 'POST',
    path: '/{keyId}/revoke-lineage',
    summary: 'End a key that leaked, with those that it was rotated from and to.',
    input: REASON_INPUT,
    status: 200,
    answer: 'RevokedKeys',
    conflicts: false,
    async run({ keyring, authority, keyId }, { reason }) {
      const revoked = await keyring.revokeLineage(keyId, withReason(authority, reason));
      return answerJson(200, { revoked });
    },
  }),
  markingRoute('withdrawFromKey', 'withdraw', {
    summary: 'Cut the own entity off from a key of another that addresses it, for good.',
    conflicts: false,
  }),
];

/** The only place where a key leaves. Encoded as JSON, what `issue` returns would not show it. */
function answerNewKey(basePath: string, { key, info }: IssuedKey): Response {
  return answerJson(201, { key, info }, { Location: `${basePath}/${info.keyId}` });
}

/** The routes of a path, of which there is one for each method. */
export interface Found {
  readonly routes: readonly Route[];
  readonly keyId: string;
}

/** @param path Below the base path. */
export function findRoutes(path: string): Found {
  const [, keyId = '', ...rest] = path.split('/');
  const named = ['', '{keyId}', ...rest].join('/');
  const template = keyId === '' ? path : named;
  return { routes: ROUTES.filter((each) => each.path === template), keyId };
}
