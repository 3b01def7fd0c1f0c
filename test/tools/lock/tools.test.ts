/** `toolsOf`: the tools behind a gate. */
import { expect, test } from 'vitest';
import { tools as platformTools } from '../../../examples/mcp/tools.ts';
import { policy as platformPolicy } from '../../../examples/platform/service/policy.ts';
import { createMcpGate } from '../../../src/mcp/index.js';
import { toolsOf } from '../../../src/tools/lock/index.js';
import { guarding } from '../../support/guarded.ts';

const { keyring } = guarding;

test('lists each tool with the operation of the same name', () => {
  const tools = [{ name: 'two' }, { name: 'one', description: 'One.' }];
  expect(toolsOf({ keyring, tools })).toEqual([
    { method: 'TOOL', path: 'one', operations: ['one'] },
    { method: 'TOOL', path: 'two', operations: ['two'] },
  ]);
  expect(toolsOf({ keyring, tools: [{ name: 'two' }], operation: 'three' })).toEqual([
    { method: 'TOOL', path: 'two', operations: ['three', 'two'] },
  ]);
});

test('lists a tool that the policy lacks as unguarded, and the gate rejects it', () => {
  const options = { ...guarding, tools: [{ name: 'four' }], resource: 'https://example.com/mcp' };
  expect(toolsOf(options)).toEqual([{ method: 'TOOL', path: 'four', operations: [] }]);
  expect(() => createMcpGate(options)).toThrow('"four" is not in the policy');
});

test('lists the tools of the platform', () => {
  const listed = toolsOf({ keyring: { policy: platformPolicy }, tools: platformTools });
  expect(listed.map(({ operations }) => operations)).toEqual(
    [...platformPolicy.operations].sort().map((name) => [name]),
  );
});

test('rejects invalid options', () => {
  const tools = [{ name: 'one' }];
  expect(() => toolsOf({ tools } as never)).toThrow(
    'toolsOf: keyring: pass one that was made with a policy',
  );
  expect(() => toolsOf({ keyring, tools: 'one' } as never)).toThrow('pass a list of all tools');
  expect(() => toolsOf({ keyring, tools: [null] } as never)).toThrow('toolsOf: names: element 0');
  expect(() => toolsOf({ keyring, tools, operation: 'four' })).toThrow(TypeError);
});
