/** `keyscope init` */
import { existsSync, readFileSync } from 'node:fs';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Call } from '../call.js';
import { CommandError, suggest, usageError } from '../command-error.js';
import { missingLines } from '../orm-configs.js';
import { type Ending, NEST, PEPPER_COMMAND, starterFiles } from '../starter.js';
import { DATABASES, FRAMEWORKS } from '../starter-parts.js';

/** Writes the first files of a service. Never overwrites a file. */
export async function run(call: Call): Promise<undefined> {
  const { output, interrupts } = call;
  const manifest = await readManifest();
  const packages = new Set(Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }));
  const framework = await choose(call, 'framework', packages);
  const database = await choose(call, 'database', packages);
  const ending = endingFor(call, { framework, packages, isModule: manifest.type === 'module' });
  // Without the package's scope. A prefix starts with a letter and has at most 20 characters.
  const [prefix = 'acme'] = /[a-z][a-z0-9]{1,19}(?![^/]*\/)/.exec(manifest.name ?? '') ?? [];
  const files = starterFiles({ framework, database, prefix, ending });
  const paths = [...files.keys()];
  const taken = paths.filter((path) => existsSync(path));
  if (taken.length > 0) {
    const problem = `Nothing was written: ${taken.join(', ')} already exists.`;
    throw new CommandError('refused', problem);
  }
  const { file } = DATABASES[database] ?? {};
  await interrupts.change(async () => {
    if (file !== undefined && (await ignoreInGit(`${file}*`))) paths.push(IGNORED);
    for (const [path, text] of files) {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { flag: 'wx' });
    }
  });
  for (const path of paths) {
    await (output.isJson ? output.json({ path }) : output.line(path));
  }
  output.say('Then:');
  const steps = stepsFor({ framework, database, packages, ending });
  for (const step of [...(await missingLines('.')), ...steps]) output.say(`  ${step}`);
  output.say('Keep PEPPER in a safe place: without it, no key works. Tests and CI need one, too.');
}

/** Returns what is left to do: commands, and sentences about the project's own files. */
function stepsFor(project: Project): readonly string[] {
  const { framework, database, ending } = project;
  const { variable } = DATABASES[database] ?? {};
  const { adapter, server } = FRAMEWORKS[framework] ?? {};
  const isNest = framework === NEST;
  const steps = [
    ...installSteps(project),
    ...(isNest ? nestSteps() : []),
    ...(variable === undefined ? [] : [`export ${variable.join('=')}`]),
    `export PEPPER=$(${PEPPER_COMMAND})`,
    ...(isNest ? ['npm run build'] : []),
    'npx keyscope migrate',
    'npx keyscope issue --entity org_42 --name Try --scopes invoices:read --expires 1d',
  ];
  if (isNest) return [...steps, 'npm run start'];
  if (server !== undefined) return [...steps, `node keyscope/server${ending}`];
  if (adapter === undefined)
    return [...steps, 'guard your routes with an adapter of your own: see docs/adapters.md'];
  return [
    ...steps,
    `cp node_modules/keyscope/examples/${adapter}/adapter.ts keyscope/`,
    `guard each route of ${framework} with it: see docs/frameworks.md#${framework}`,
  ];
}

/** Returns what to change in the files of a Nest project. */
function nestSteps(): readonly string[] {
  const compiler = existsSync(TSCONFIG) ? readFileSync(TSCONFIG, 'utf8') : '';
  const steps = [
    'add KeyscopeModule of src/keyscope/keyscope.module.ts to `imports` in src/app.module.ts',
    'if the app has global guards, read docs/frameworks.md#nest first',
    'call app.enableShutdownHooks() in src/main.ts',
  ];
  if (/"module":\s*"nodenext"/i.test(compiler)) return steps;
  return [`set "module": "nodenext" in ${TSCONFIG}, with TypeScript 5.8 or later`, ...steps];
}

const TSCONFIG = 'tsconfig.json';
const IGNORED = '.gitignore';

/** Adds a line to `.gitignore`, and returns whether it was missing. */
async function ignoreInGit(line: string): Promise<boolean> {
  const text = existsSync(IGNORED) ? await readFile(IGNORED, 'utf8') : '';
  if (text.split('\n').some((each) => each.trim() === line)) return false;
  const isOpen = text !== '' && !text.endsWith('\n');
  await appendFile(IGNORED, `${isOpen ? '\n' : ''}${line}\n`);
  return true;
}

function installSteps({ framework, database, packages, ending }: Project): readonly string[] {
  const parts = [FRAMEWORKS[framework], DATABASES[database]];
  const isMissing = (name: string): boolean => !packages.has(name);
  const own = ['keyscope', ...parts.flatMap((part) => part?.packages ?? [])].filter(isMissing);
  const steps = own.length > 0 ? [`npm install ${own.join(' ')}`] : [];
  if (ending === '.mjs') return steps;
  const types = ['@types/node', ...parts.flatMap((part) => part?.types ?? [])];
  const needsTsx = !STRIPS_TYPES && framework !== NEST;
  const tools = ['typescript', ...(needsTsx ? ['tsx'] : []), ...types].filter(isMissing);
  if (tools.length > 0) steps.push(`npm install --save-dev ${tools.join(' ')}`);
  if (needsTsx) steps.push('export NODE_OPTIONS="--import tsx"');
  return steps;
}

/** Whether this Node runs TypeScript. */
const STRIPS_TYPES = Boolean((process.features as { readonly typescript?: unknown }).typescript);

interface Project {
  readonly framework: string;
  readonly database: string;
  readonly packages: ReadonlySet<string>;
  readonly ending: Ending;
}

interface Manifest {
  readonly name?: string;
  readonly type?: string;
  readonly dependencies?: object;
  readonly devDependencies?: object;
}

async function readManifest(): Promise<Manifest> {
  try {
    return JSON.parse(await readFile('package.json', 'utf8')) as Manifest;
  } catch {
    const problem = 'Cannot read package.json in this folder. Run `npm init` first.';
    throw new CommandError('refused', problem);
  }
}

function endingFor(
  { given, output }: Call,
  project: Pick<Project, 'framework' | 'packages'> & { readonly isModule: boolean },
): Ending {
  const { framework, packages, isModule } = project;
  if (framework === NEST) return isModule ? '.js' : '';
  const isWanted = packages.has('typescript') || given.flag('typescript');
  if (!isWanted) return '.mjs';
  // Without `"type": "module"`, `.ts` may be CommonJS, which cannot import these files. But Next
  // finds no `.mts`, and has no type, so Node looks into the files.
  const isFound = isModule || framework === 'next';
  if (STRIPS_TYPES || given.flag('typescript')) return isFound ? '.ts' : '.mts';
  const instead = 'Use Node 22.18 or later, or pass --typescript to run TypeScript with tsx.';
  output.say(`Writing .mjs files: Node ${process.version} cannot run TypeScript. ${instead}`);
  return '.mjs';
}

/** The choices, with the default if package.json has none of them. */
const CHOICES = {
  framework: { parts: FRAMEWORKS, instead: 'express' },
  database: { parts: DATABASES, instead: 'sqlite' },
} as const;

/** Returns the name from the command line, from an answer, or by default from package.json. */
async function choose(
  { given, terminal, output }: Call,
  option: keyof typeof CHOICES,
  packages: ReadonlySet<string>,
): Promise<string> {
  const { parts, instead } = CHOICES[option];
  const names = Object.keys(parts);
  const found = names.find((name) => packages.has(parts[name]?.packages[0] ?? ''));
  const byDefault = found ?? instead;
  const isAsked = terminal.isThere && !given.flag('yes');
  const question = `Which ${option} (${names.join(', ')})?`;
  const written = given.text(option);
  const name = written ?? (isAsked ? await terminal.ask(question, byDefault) : byDefault);
  const isGuessed = found === undefined && written === undefined && !isAsked;
  if (isGuessed) output.say(`package.json has no known ${option}. Using --${option} ${name}.`);
  if (Object.hasOwn(parts, name)) return name;
  throw usageError(`--${option} takes one of ${names.join(', ')}.${suggest(name, names)}`);
}
