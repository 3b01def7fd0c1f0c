/** The metadata of a protected resource, and the valid URLs of one. */
import * as router1 from '@modelcontextprotocol/sdk/server/auth/router.js';
import { OAuthProtectedResourceMetadataSchema } from '@modelcontextprotocol/sdk/shared/auth.js';
import * as server2 from '@modelcontextprotocol/server';
import {
  createMcpVerifier,
  type ProtectedResourceOptions,
  protectedResourceMetadata,
} from 'keyscope/mcp';
import { describe, expect, it } from 'vitest';
import { catalog, setUp, untyped } from '../support/keyring.ts';
import { RESOURCE, setUpGate } from '../support/mcp.ts';

describe('protectedResourceMetadata', () => {
  it.each([
    ['https://api.example.com/mcp', '/.well-known/oauth-protected-resource/mcp'],
    ['https://api.example.com', '/.well-known/oauth-protected-resource'],
    ['https://api.example.com:8443/a/b-c', '/.well-known/oauth-protected-resource/a/b-c'],
    ['http://127.0.0.1:8787/mcp', '/.well-known/oauth-protected-resource/mcp'],
    ['http://localhost/mcp', '/.well-known/oauth-protected-resource/mcp'],
    ['http://[::1]:1/mcp', '/.well-known/oauth-protected-resource/mcp'],
  ])('gives %s the path where both SDKs look for it', (resource, path) => {
    const metadata = protectedResourceMetadata({ resource });
    expect(metadata.path).toBe(path);
    expect(metadata.document).toEqual({ resource, bearer_methods_supported: ['header'] });
    const url = new URL(resource);
    expect(router1.getOAuthProtectedResourceMetadataUrl(url)).toBe(metadata.url);
    expect(server2.getOAuthProtectedResourceMetadataUrl(url)).toBe(metadata.url);
    expect(protectedResourceMetadata({ resource: url }).url).toBe(metadata.url);
  });

  it('contains exactly the given fields, as the SDK reads them', () => {
    const { document } = protectedResourceMetadata({
      resource: RESOURCE,
      authorizationServers: ['https://login.example.com'],
      scopes: catalog.all,
      name: 'Threats',
      documentation: 'https://example.com/keys',
    });
    expect(document).toEqual({
      resource: RESOURCE,
      authorization_servers: ['https://login.example.com'],
      scopes_supported: [...catalog.all],
      bearer_methods_supported: ['header'],
      resource_name: 'Threats',
      resource_documentation: 'https://example.com/keys',
    });
    expect(OAuthProtectedResourceMetadataSchema.parse(document)).toEqual(document);
    expect(Object.isFrozen(document) && Object.isFrozen(document.scopes_supported)).toBe(true);
  });

  // Clients ask for all scopes that the metadata lists.
  it('lists the scopes of a keyring without reserved ones, unless you name them', () => {
    const { keyring } = setUp();
    const scopesOf = (options: Partial<ProtectedResourceOptions>) =>
      protectedResourceMetadata({ resource: RESOURCE, ...options }).document.scopes_supported;
    const harmless = catalog.all.filter((scope) => !catalog.isReserved(scope));
    expect(harmless).not.toEqual(catalog.all);
    for (const holder of [keyring, setUp({ catalog }).keyring]) {
      expect(scopesOf({ keyring: holder })).toEqual(harmless);
      expect(Object.isFrozen(scopesOf({ keyring: holder }))).toBe(true);
    }
    expect(scopesOf({ keyring, scopes: ['users:read'] })).toEqual(['users:read']);
  });

  it.each([
    'mcp',
    '/mcp',
    '',
    undefined,
    'http://api.example.com/mcp',
    'ftp://api.example.com/mcp',
    'https://user:secret@api.example.com/mcp',
    'https://user@api.example.com/mcp',
    'https://api.example.com/mcp#',
    'https://api.example.com/mcp#x',
    'https://api.example.com/mcp?x=1',
    'https://API.example.com/mcp',
    'https://api.example.com:443/mcp',
    'https://api.example.com/a/../mcp',
    ' https://api.example.com/mcp',
    'https://api.example.com/mcp\n',
    'https://api.example.com/ü',
  ])('rejects %j as a resource without quoting credentials', (resource) => {
    const make = () => protectedResourceMetadata(untyped({ resource }));
    expect(make).toThrow(/^resource: /);
    expect(make).not.toThrow(/secret/);
    expect(() => setUpGate(untyped({ resource }))).toThrow(/^resource: /);
    const { keyring } = setUp();
    const invalidToken = (message: string) => new Error(message);
    const options = { keyring, resource, invalidToken };
    expect(() => createMcpVerifier(untyped(options))).toThrow(/^resource: /);
  });

  it.each([
    [
      { authorizationServers: ['http://login.example.com'] },
      /^authorizationServers: pass an https URL/,
    ],
    [{ authorizationServers: 'https://login.example.com' }, /^servers: pass a list/],
    [{ scopes: ['threats:*'] }, /^scopes: element 0: write resource:action, not "threats:\*"/],
    [{ scopes: catalog }, /^scopes: pass a list/],
    [{ keyring: {} }, /^keyring: pass what createKeyring returned/],
    [{ name: 5 }, /^name and documentation: /],
    [{ documentation: new URL(RESOURCE) }, /^name and documentation: /],
    [{ jwks: 'x' }, /^metadata: unknown field "jwks"/],
  ])('rejects %j', (odd, message) => {
    expect(() => protectedResourceMetadata(untyped({ resource: RESOURCE, ...odd }))).toThrow(
      message,
    );
  });
});
