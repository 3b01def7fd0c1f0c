/** Pages that only lead to others: the way to the keys. */
import { html } from 'hono/html';
import { BASE, CONFIGURATION, KEYS, SETTINGS } from '../paths.ts';
import type { Member } from '../visit.ts';
import type { Html, Step, Trail } from './frame.ts';
import { page, TO_CONFIGURATION, TO_HOME, TO_SETTINGS } from './frame.ts';

interface Menu {
  readonly path: string;
  readonly title: string;
  readonly trail: Trail;
  readonly leadsTo: Step;
  /** What is there. */
  readonly words: string;
}

export const MENUS: readonly Menu[] = [
  {
    path: BASE,
    title: 'Console',
    trail: TO_HOME,
    leadsTo: { path: SETTINGS, name: 'Settings' },
    words: 'How the platform is set up.',
  },
  {
    path: SETTINGS,
    title: 'Settings',
    trail: TO_SETTINGS,
    leadsTo: { path: CONFIGURATION, name: 'Configuration' },
    words: 'What it works with.',
  },
  {
    path: CONFIGURATION,
    title: 'Configuration',
    trail: TO_CONFIGURATION,
    leadsTo: { path: KEYS, name: 'API Keys' },
    words: 'Access for programs.',
  },
];

export function menuPage({ title, trail, leadsTo, words }: Menu, member: Member): Html {
  const link = html`<a href="${leadsTo.path}">${leadsTo.name}</a>`;
  const content = html`<h1>${title}</h1><ul class="menu"><li>${link} ${words}</li></ul>`;
  return page(title, member, trail, content);
}
