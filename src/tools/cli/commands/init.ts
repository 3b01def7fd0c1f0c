/** `keyscope init` */
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Call } from '../call.js';
import { CommandError, suggest, usageError } from '../command-error.js';
import { PEPPER_COMMAND, starterFiles } from '../starter.js';
import { DATABASES, FRAMEWORKS } from '../starter-parts.js';

/** Writes the first files of a service. Never overwrites a file. */
export async function run(call: Call): Promise<undefined> {
  const { output, interrupts } = call;
  const project = await readProject(call);
  const framework = await choose(call, 'framework', FRAMEWORKS, project.packages);
  const database = await choose(call, 'database', DATABASES, project.packages);
  const files = starterFiles({ framework, database, ...project });
  const taken = [...files.keys()].filter((path) => existsSync(path));
  if (taken.length > 0) {
    const problem = `Nothing was written: ${taken.join(', ')} already exists.`;
    throw new CommandError('refused', problem);
  }
  const paths = [...files.keys()];
  const { variable, file } = DATABASES[database] ?? {};
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
  const server = `keyscope/server.${project.ending}`;
  const parts = [FRAMEWORKS[framework], DATABASES[database]];
  const steps = [
    ...installSteps(project, parts),
    ...(variable === undefined ? [] : [`export ${variable.join('=')}`]),
    `export PEPPER=$(${PEPPER_COMMAND})`,
    'npx keyscope migrate',
    'npx keyscope issue --entity $(node -p "crypto.randomUUID()") --name Try \\',
    '  --scopes invoices:read --expires 1d',
    files.has(server)
      ? `node ${server}`
      : 'guard your routes with an adapter of your own: see docs/adapters.md',
  ];
  output.say('Then:');
  for (const step of steps) output.say(`  ${step}`);
  output.say('Keep PEPPER in a safe place: without it, no key works.');
}

const IGNORED = '.gitignore';

/** Adds a line to `.gitignore`, and returns whether it was missing. */
async function ignoreInGit(line: string): Promise<boolean> {
  const text = existsSync(IGNORED) ? await readFile(IGNORED, 'utf8') : '';
  if (text.split('\n').some((each) => each.trim() === line)) return false;
  const isOpen = text !== '' && !text.endsWith('\n');
  await appendFile(IGNORED, `${isOpen ? '\n' : ''}${line}\n`);
  return true;
}

type Part = (typeof FRAMEWORKS)[string] | (typeof DATABASES)[string];

function installSteps(
  { packages, ending }: Project,
  parts: readonly (Part | undefined)[],
): readonly string[] {
  const isMissing = (name: string): boolean => !packages.has(name);
  const own = ['keyscope', ...parts.flatMap((part) => part?.packages ?? [])].filter(isMissing);
  const steps = own.length > 0 ? [`npm install ${own.join(' ')}`] : [];
  if (ending === 'mjs') return steps;
  const types = ['@types/node', ...parts.flatMap((part) => part?.types ?? [])];
  const tools = ['typescript', ...(STRIPS_TYPES ? [] : ['tsx']), ...types].filter(isMissing);
  if (tools.length > 0) steps.push(`npm install --save-dev ${tools.join(' ')}`);
  if (!STRIPS_TYPES) steps.push('export NODE_OPTIONS="--import tsx"');
  return steps;
}

/** Whether this Node runs TypeScript. */
const STRIPS_TYPES = Boolean((process.features as { readonly typescript?: unknown }).typescript);

interface Project {
  readonly packages: ReadonlySet<string>;
  readonly prefix: string;
  readonly ending: 'ts' | 'mts' | 'mjs';
}

interface Manifest {
  readonly name?: string;
  readonly type?: string;
  readonly dependencies?: object;
  readonly devDependencies?: object;
}

async function readProject({ given, output }: Call): Promise<Project> {
  let manifest: Manifest;
  try {
    manifest = JSON.parse(await readFile('package.json', 'utf8')) as Manifest;
  } catch {
    const problem = 'Cannot read package.json in this folder. Run `npm init` first.';
    throw new CommandError('refused', problem);
  }
  const { name = '', type, dependencies = {}, devDependencies = {} } = manifest;
  const packages = new Set(Object.keys({ ...dependencies, ...devDependencies }));
  // Without the package's scope. A prefix starts with a letter and has at most 20 characters.
  const prefix = /[a-z][a-z0-9]{1,19}(?![^/]*\/)/.exec(name)?.[0] ?? 'acme';
  const isWanted = packages.has('typescript') || given.flag('typescript');
  const isTyped = isWanted && (STRIPS_TYPES || given.flag('typescript'));
  if (isWanted && !isTyped) {
    const instead = 'Use Node 22.18 or later, or pass --typescript to run TypeScript with tsx.';
    output.say(`Writing .mjs files: Node ${process.version} cannot run TypeScript. ${instead}`);
  }
  // Without `"type": "module"`, `.ts` is CommonJS, which cannot import these files.
  const typed = type === 'module' ? 'ts' : 'mts';
  return { packages, prefix, ending: isTyped ? typed : 'mjs' };
}

/** Returns the name from the command line, from an answer, or by default from package.json. */
async function choose(
  { given, terminal, output }: Call,
  option: 'framework' | 'database',
  parts: Readonly<Record<string, { readonly packages: readonly string[] }>>,
  packages: ReadonlySet<string>,
): Promise<string> {
  const names = Object.keys(parts);
  const found = names.find((name) => parts[name]?.packages.some((each) => packages.has(each)));
  const byDefault = found ?? names[0] ?? '';
  const isAsked = terminal.isThere && !given.flag('yes');
  const question = `Which ${option} (${names.join(', ')})?`;
  const written = given.text(option);
  const name = written ?? (isAsked ? await terminal.ask(question, byDefault) : byDefault);
  const isGuessed = found === undefined && written === undefined && !isAsked;
  if (isGuessed) output.say(`package.json has no known ${option}. Using --${option} ${name}.`);
  if (Object.hasOwn(parts, name)) return name;
  throw usageError(`--${option} takes one of ${names.join(', ')}.${suggest(name, names)}`);
}
