/**
 * `npm run demo` starts the reference service and stays up; `npm run demo -- --check` walks through
 * console, HTTP and MCP, on its own port and folder, and exits non-zero on the first surprise.
 * `--store <address>` keeps the keys in another database (`postgres://…`, `mysql://…`,
 * `redis://…`), where a second instance joins the walk, unless it is in memory.
 */
import { runDemo } from '../../console/server.ts';
import { explain } from '../service/problem.ts';
import { readArguments } from './arguments.ts';
import { runInstance } from './walk/instances.ts';
import { check } from './walk/walk.ts';

const USAGE = `npm run demo -- [--check] [--store <address>]
  --check                   walk through the service and exit, with 1 on the first surprise`;

try {
  // `--instance` is for the walk, which starts one.
  const args = readArguments(USAGE, { check: { type: 'boolean' }, instance: { type: 'string' } });
  if (args?.instance !== undefined) await runInstance(args.instance, args.store ?? '');
  else if (args?.check) await check(args.store);
  else if (args !== null) await runDemo();
} catch (error) {
  console.error(`The service could not start. ${explain(error)}`);
  process.exitCode = 1;
}
