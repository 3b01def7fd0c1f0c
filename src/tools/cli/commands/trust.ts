/**
 * `keyscope trust`: create a key that has no secret. Jobs and pods act as it with tokens of their
 * platform. Asks no platform: it prints the command that does.
 */
import type { Trust } from '../../../core/trust.js';
import { githubTrust, gitlabTrust, kubernetesTrust } from '../../../keyless/trusts.js';
import type { KeyInfo } from '../../../management/info.js';
import { ISSUER_INSTEAD, isIssuer, type KeylessKey } from '../../../management/keyless.js';
import type { Call } from '../call.js';
import { CommandError, usageError } from '../command-error.js';
import { textOf, withOption, withoutSecrets } from '../explain.js';
import { readNewKey, writeNewKey } from '../new-key.js';
import { type Given, type OptionName, readList, shownOption } from '../options.js';
import { githubWorkflow, gitlabJob, podSpec, type TokenAudience } from '../workflows.js';

/** Creates a key that jobs or pods act as. Not checked: whether they exist. */
export async function run(call: Call): Promise<undefined> {
  const { given } = call;
  requireShapes(given);
  const platform = choosePlatform(given);
  const trust = readTrust(platform, given);
  const { keyring, input, authority } = await readNewKey(call);
  const make = () => keyring.issueKeyless({ ...input, trust }, authority);
  const { info }: KeylessKey = await call.interrupts.change(make).catch(explainTokens);
  await writeNewKey(info, () => show(call, platform, info));
}

// ── Whom to trust ───────────────────────────────────────────────────────────────────────────────

/** Where the tokens come from. */
interface Platform {
  readonly needs: readonly OptionName[];
  readonly takes: readonly OptionName[];
  /** Options with an id that nobody else gets, and the command that prints them. */
  readonly ids: readonly OptionName[];
  find(given: Given): string;
  trust(given: Given): Trust;
  /** The lines for a job or a pod. */
  lines(audience: TokenAudience, given: Given): string;
}

const SELECTORS = ['branch', 'tag', 'environment'] as const;

function selectorOf({ text }: Given) {
  return { branch: text('branch'), tag: text('tag'), environment: text('environment') };
}

function listOf({ text }: Given, name: OptionName): readonly string[] | undefined {
  const list = text(name);
  return list === undefined ? undefined : readList(list);
}

const GITHUB: Platform = {
  needs: [],
  takes: [...SELECTORS, 'event'],
  ids: ['repository-id', 'owner-id'],
  find({ required }) {
    const ids = '"--repository-id \\(.id) --owner-id \\(.owner.id)"';
    return `gh api repos/${required('github')} --jq '${ids}'`;
  },
  trust: (given) =>
    githubTrust({
      repositoryId: given.required('repository-id'),
      ownerId: given.required('owner-id'),
      ...selectorOf(given),
      events: listOf(given, 'event'),
    }),
  lines: (audience, { text }) => githubWorkflow(audience, text('environment')),
};

const GITLAB: Platform = {
  needs: [],
  takes: [...SELECTORS, 'source', 'issuer'],
  ids: ['project-id'],
  find({ required, text }) {
    const { host } = new URL(text('issuer') ?? 'https://gitlab.com');
    const project = encodeURIComponent(required('gitlab'));
    return `glab api --hostname ${host} projects/${project} | jq .id`;
  },
  trust: (given) =>
    gitlabTrust({
      issuer: given.text('issuer'),
      projectId: given.required('project-id'),
      ...selectorOf(given),
      sources: listOf(given, 'source'),
    }),
  lines: (audience, { text }) => gitlabJob(audience, text('environment')),
};

const KUBERNETES: Platform = {
  needs: ['issuer', 'namespace', 'service-account'],
  takes: [],
  ids: ['uid'],
  find({ required }) {
    const account = `${required('service-account')} -n ${required('namespace')}`;
    return `kubectl get serviceaccount ${account} -o 'jsonpath={.metadata.uid}'`;
  },
  trust: ({ required }) =>
    kubernetesTrust({
      issuer: required('issuer'),
      namespace: required('namespace'),
      serviceAccount: required('service-account'),
      uid: required('uid'),
    }),
  lines: (audience, { required }) => podSpec(audience, required('service-account')),
};

const CLAIMS: Platform = {
  needs: ['issuer'],
  takes: [],
  ids: [],
  find: () => '',
  trust: ({ required, texts }) => ({
    issuer: required('issuer'),
    claims: readClaims(texts('claim')),
  }),
  lines: () => '',
};

/** By the option that chooses it. */
const PLATFORMS: ReadonlyMap<OptionName, Platform> = new Map([
  ['github', GITHUB],
  ['gitlab', GITLAB],
  ['kubernetes', KUBERNETES],
  ['claim', CLAIMS],
]);

/** Options that printed commands repeat: no character in them means anything to a shell. */
const SHAPES: ReadonlyMap<OptionName, RegExp> = new Map([
  ['github', /^\w[\w.-]*\/[\w.-]+$/],
  ['gitlab', /^\w[\w.-]*(?:\/[\w.-]+)+$/],
  ['namespace', /^\w[\w.-]*$/],
  ['service-account', /^\w[\w.-]*$/],
  ['audience', /^\w[\w.:/-]*$/],
]);

function requireShapes({ text }: Given): void {
  for (const [name, shape] of SHAPES) {
    const value = text(name);
    if (value === undefined || shape.test(value)) continue;
    throw usageError(`Write ${shownOption(name)} with letters, digits and . _ - : / only.`);
  }
  const issuer = text('issuer');
  const isMalformed = issuer !== undefined && !isIssuer(issuer);
  if (isMalformed) throw usageError(`--issuer: ${ISSUER_INSTEAD}.`);
}

/**
 * Chooses the platform by its option.
 *
 * @throws CommandError on none or two, on an option of another one, and on a missing option.
 */
function choosePlatform(given: Given): Platform {
  const [chosen, another] = [...PLATFORMS].filter(([name]) => given.flag(name));
  if (chosen === undefined || another !== undefined) {
    const names = [...PLATFORMS.keys()].map((name) => `--${name}`);
    throw usageError(`keyscope trust takes exactly one of ${names.join(', ')}.`);
  }
  const [option, platform] = chosen;
  const own = optionsOf(platform);
  const others = [...PLATFORMS.values()].flatMap(optionsOf);
  const stray = others.find((name) => given.flag(name) && !own.includes(name));
  if (stray !== undefined) {
    throw usageError(`--${stray} says nothing about --${option}. Remove one.`);
  }
  const isMissing = (name: OptionName): boolean => !given.flag(name);
  const missing = platform.needs.filter(isMissing);
  const words = `keyscope trust --${option} needs`;
  if (missing.length > 0) {
    throw usageError(`${words} ${missing.map(shownOption).join(', ')}.`);
  }
  if (platform.ids.some(isMissing)) {
    const ids = platform.ids.map(shownOption).join(' and ');
    throw usageError(`${words} ${ids}. This prints them: ${platform.find(given)}`);
  }
  return platform;
}

function optionsOf({ needs, takes, ids }: Platform): readonly OptionName[] {
  return [...needs, ...takes, ...ids];
}

function readTrust(platform: Platform, given: Given): Trust {
  try {
    return platform.trust(given);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw usageError(`${withoutSecrets(withOption(textOf(error)))}.`);
  }
}

/** Reads claims. A name that is repeated may have any of its values. */
function readClaims(texts: readonly string[]): Trust['claims'] {
  const claims = new Map<string, string[]>();
  for (const text of texts) {
    const at = text.indexOf('=');
    if (at < 1) throw usageError('--claim takes name=value, such as repository_id=123.');
    const name = text.slice(0, at);
    claims.set(name, [...(claims.get(name) ?? []), text.slice(at + 1)]);
  }
  const pairs = [...claims].map(([name, values]): [string, string | string[]] => {
    const [only = '', another] = values;
    return [name, another === undefined ? only : values];
  });
  // `fromEntries` defines properties, so no name reaches a prototype.
  return Object.fromEntries(pairs);
}

// ── The key ─────────────────────────────────────────────────────────────────────────────────────

function explainTokens(error: unknown): never {
  const isOfKeyring = error instanceof TypeError && textOf(error).startsWith('issueKeyless: ');
  if (!isOfKeyring) throw error;
  throw new CommandError(
    'config',
    'No key was created: nobody could use it. Pass createKeyring in your config a pepper and ' +
      '`tokens: createKeylessVerifier({ audience, issuers })`.',
  );
}

async function show({ given, output }: Call, platform: Platform, info: KeyInfo): Promise<void> {
  const { keyId, trust } = info;
  const service = given.text('audience');
  const name = service ?? '<audience>';
  const audience: TokenAudience = {
    plain: `${name}#${keyId}`,
    inUrl: `${service === undefined ? name : encodeURIComponent(name)}%23${keyId}`,
  };
  if (output.isJson) {
    await output.json({
      keyId,
      audience: service === undefined ? null : audience.plain,
      trust,
      info,
    });
    return;
  }
  await output.lines(`key id           ${keyId}
audience         ${audience.plain}
audience in URL  ${audience.inUrl}

${platform.lines(audience, given)}`);
  output.say('The key has no secret: tokens with this audience act as it.');
  if (service !== undefined) return;
  output.say('<audience> is the `audience` of createKeylessVerifier. --audience fills it in.');
}
