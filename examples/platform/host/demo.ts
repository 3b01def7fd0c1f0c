/**
 * `npm run demo` starts the reference service. `npm run demo -- --check` walks through console,
 * HTTP and MCP on its own port and in its own folder, and exits with 1 if an answer is not as
 * expected.
 * `--store <address>` keeps the keys in another database (`postgres://…`, `mysql://…`,
 * `redis://…`). Unless that is in memory, a second instance joins the walk.
 */
import { runDemo } from '../../console/server.ts';
import { explain } from '../service/problem.ts';
import { readArguments } from './arguments.ts';
import { runInstance } from './walk/instances.ts';
import { check } from './walk/walk.ts';

const USAGE = `npm run demo -- [--check] [--store <address>]
  --check                   test the service and exit, with 1 if an answer is not as expected`;

try {
  // The walk itself starts the second instance with `--instance`.
  const args = readArguments(USAGE, { check: { type: 'boolean' }, instance: { type: 'string' } });
  if (args?.instance !== undefined) await runInstance(args.instance, args.store ?? '');
  else if (args?.check) await check(args.store);
  else if (args !== null) await runDemo();
} catch (error) {
  console.error(`The service could not start. ${explain(error)}`);
  process.exitCode = 1;
}
