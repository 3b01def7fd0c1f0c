/** The metadata of a protected resource, from which clients learn how to authenticate. */
import type { Catalog } from '../core/catalog.js';
import { assert, hasMethods, readFields, readStrings } from '../core/input.js';
import { isScope } from '../core/scope.js';
import { readResource } from './resource.js';

/** An RFC 9728 document and where to serve it. */
export interface ProtectedResourceMetadata {
  /** The path to serve it at, without a credential. */
  readonly path: string;
  /** The full URL of that path: the `resource_metadata` of a challenge. */
  readonly url: string;
  /** The document to send as JSON. */
  readonly document: Readonly<{
    resource: string;
    authorization_servers?: readonly string[];
    scopes_supported?: readonly string[];
    bearer_methods_supported: readonly ['header'];
    resource_name?: string;
    resource_documentation?: string;
  }>;
}

export interface ProtectedResourceOptions {
  /** This server's own URL, as clients know it and as in a token's `aud`. */
  readonly resource: string | URL;
  /** The servers where clients get tokens. Omit them if there are only keys. */
  readonly authorizationServers?: readonly string[] | undefined;
  /**
   * The concrete scopes that clients may ask for. If a challenge names no scope, clients ask for
   * all of these. Anyone can read the list. Default: the scopes of `keyring`, if you pass it.
   */
  readonly scopes?: readonly string[] | undefined;
  /** Lists the scopes of its catalog, without the reserved ones. */
  readonly keyring?: { readonly catalog: Catalog } | undefined;
  /** A human-readable name. */
  readonly name?: string | undefined;
  /** A human-readable page, for example on how to get a key. */
  readonly documentation?: string | undefined;
}

const OPTIONS: readonly (keyof ProtectedResourceOptions)[] = [
  'resource',
  'authorizationServers',
  'scopes',
  'keyring',
  'name',
  'documentation',
];

const CONCRETE_SCOPE = { holds: isScope, instead: 'write resource:action' };

/**
 * Returns the metadata of a protected resource (RFC 9728 §2) and its path (§3.1). It uses only your
 * configuration and reads no request, so no `Host` or `X-Forwarded-*` header can send clients to
 * another server.
 *
 * Not checked: whether the authorization servers answer.
 *
 * @throws TypeError if a URL is not absolute and https (http only for this machine), or not in its
 *   canonical spelling.
 * @example
 * const metadata = protectedResourceMetadata({ resource: 'https://api.example.com/mcp' });
 * // /.well-known/oauth-protected-resource/mcp
 * app.get(metadata.path, (c) => c.json(metadata.document));
 */
export function protectedResourceMetadata(
  options: ProtectedResourceOptions,
): ProtectedResourceMetadata {
  const given = readFields(options, OPTIONS, 'metadata');
  const { origin, pathname } = readResource(given.resource, 'resource');
  const { name, documentation } = given;
  for (const text of [name, documentation]) {
    const isText = text === undefined || typeof text === 'string';
    assert(isText, 'name and documentation: pass strings or leave them out');
  }
  const servers = readServers(given.authorizationServers);
  const scopes = readScopes(options);
  // §3.1: insert the well-known part before the path, and drop a path that is only a slash.
  const path = `/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}`;
  const document = Object.freeze({
    resource: String(given.resource),
    ...(servers !== undefined && { authorization_servers: servers }),
    ...(scopes !== undefined && { scopes_supported: scopes }),
    bearer_methods_supported: Object.freeze(['header'] as const),
    ...(typeof name === 'string' && { resource_name: name }),
    ...(typeof documentation === 'string' && { resource_documentation: documentation }),
  });
  return Object.freeze({ path, url: `${origin}${path}`, document });
}

function readServers(value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const servers = readStrings(value, 'servers');
  for (const server of servers) readResource(server, 'authorizationServers');
  return Object.freeze(servers);
}

function readScopes({ scopes, keyring }: ProtectedResourceOptions): readonly string[] | undefined {
  if (scopes !== undefined) return Object.freeze(readStrings(scopes, 'scopes', CONCRETE_SCOPE));
  if (keyring === undefined) return undefined;
  const { catalog } = keyring;
  assert(hasMethods(catalog, 'isReserved'), 'keyring: pass what createKeyring returned');
  return Object.freeze(catalog.all.filter((scope) => !catalog.isReserved(scope)));
}
