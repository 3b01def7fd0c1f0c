/** Writes the scopes and operations of a service as Markdown. */
import { escapeMarkdown } from '../escape.js';
import type { OperationEntry, ScopeEntry, ScopeReferenceInput } from './scope-table.js';
import { scopeTable } from './scope-table.js';

const PLAIN_NAME = /^[\w:.-]+$/;

/**
 * Returns a reference of all scopes and all operations as two Markdown tables (GitHub Flavored
 * Markdown §4.10), scopes in catalog order, operations in the order of the policy. The same policy
 * gives the same text, so that a test can compare it with a committed file. For a different page,
 * use the data of `scopeTable`.
 *
 * Not checked: whether a route or tool exists for each operation.
 *
 * @throws TypeError as `scopeTable` does.
 * @example
 * writeFileSync('docs/scopes.md', scopeReference({ policy }));
 */
export function scopeReference(input: ScopeReferenceInput): string {
  const { scopes, operations } = scopeTable(input);
  const lines = [
    '## Scopes',
    '',
    ...table(['Scope', 'Allows', 'Needed by'], scopes.map(scopeRow)),
    '',
    ...(scopes.some(({ reserved }) => reserved) ? [RESERVED, ''] : []),
    '## Operations',
    '',
    ...table(['Operation', 'Needs'], operations.map(operationRow)),
    '',
  ];
  return lines.join('\n');
}

const RESERVED =
  'Wildcards do not include reserved scopes. To issue a key with one, name it and justify it.';

/** Returns the description of a scope in Markdown, and says if it is reserved. */
export function describeScope({ description, reserved }: ScopeEntry): string {
  return reserved ? `${escapeMarkdown(description)} *Reserved.*` : escapeMarkdown(description);
}

function scopeRow(entry: ScopeEntry): readonly string[] {
  const { scope, operations } = entry;
  return [showName(scope), describeScope(entry), showNames(operations, 'no operation')];
}

function operationRow({ operation, scopes }: OperationEntry): readonly string[] {
  return [showName(operation), showNames(scopes, 'no scope: any valid key')];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const rule = head.map(() => '---');
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

function showNames(names: readonly string[], none: string): string {
  return names.length === 0 ? none : names.map(showName).join(', ');
}

/**
 * Writes a name as code, or as escaped text if it could end the code. Operations may have any name.
 */
export function showName(name: string): string {
  return PLAIN_NAME.test(name) ? `\`${name}\`` : escapeMarkdown(name);
}
