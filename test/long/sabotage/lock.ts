/** The safeguards of the access lock. */
import type { Safeguard } from './safeguard.ts';

const tests = 'test/tools/lock';

export const LOCK: readonly Safeguard[] = [
  {
    name: 'lock: a scope that is needed no longer',
    file: 'src/tools/lock/diff-locks.ts',
    text: 'const dropped = before.scopes.filter((scope) => !after.scopes.includes(scope));',
    instead: 'const dropped: string[] = [];',
    tests,
  },
  {
    name: 'lock: a scope that is reserved no longer',
    file: 'src/tools/lock/diff-locks.ts',
    text: 'return old.reserved.includes(scope) && !now.reserved.includes(scope);',
    instead: 'return false;',
    tests,
  },
  {
    name: 'lock: a guard that is gone',
    file: 'src/tools/lock/diff-locks.ts',
    text: 'if (isUnguarded(before)) return null;',
    instead: 'if (isUnguarded(before) || isUnguarded(after)) return null;',
    tests,
  },
  {
    name: 'lock: a route without a guard and a reason',
    file: 'src/tools/lock/diff-locks.ts',
    text: "add('unguarded', 'has no guard, and nobody wrote why');",
    instead: '',
    tests,
  },
  {
    name: 'lock: all guards of a route',
    file: 'src/tools/lock/access-lock.ts',
    text: 'operations.flatMap((operation) => policy.requires(operation))',
    instead: 'operations.slice(0, 1).flatMap((operation) => policy.requires(operation))',
    tests,
  },
  {
    name: 'lock: one route, one lot of guards',
    file: 'src/tools/lock/access-lock.ts',
    text: 'other === undefined || other.operations.join() === locked.operations.join()',
    instead: 'true',
    tests,
  },
  {
    name: 'lock: operations that the policy has',
    file: 'src/tools/lock/access-lock.ts',
    text: 'unknown.length === 0',
    instead: 'true',
    tests,
  },
  {
    name: 'lock: a merge conflict',
    file: 'src/tools/lock/lock-text.ts',
    text: '!conflict.test(text)',
    instead: 'true',
    tests,
  },
  {
    name: 'lock: a later version',
    file: 'src/tools/lock/lock-text.ts',
    text: "typeof version !== 'number' || version <= VERSION",
    instead: 'true',
    tests,
  },
  {
    name: 'lock: Markdown is escaped',
    file: 'src/tools/lock/lock-markdown.ts',
    text: "return text.replaceAll(/[\\\\`*_[\\]<>#&~@]/g, '\\\\$&');",
    instead: 'return text;',
    tests,
  },
];
