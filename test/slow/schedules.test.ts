/**
 * All interactions between processes, in every order of their steps: the part of `npm run
 * test:exhaustive` that takes seconds.
 */
import { describe, expect, it } from 'vitest';
import { FAMILIES, QUICK } from '../support/schedule-settings.ts';
import { explore, successorsOf } from '../support/schedules.ts';
import { Simulation } from '../support/simulation.ts';

describe('in every order of their steps,', () => {
  it.each(QUICK)('$name keep every law', async ({ scenarios }) => {
    for (const { name, setting } of scenarios) {
      const { schedules, wrong } = await explore(setting);
      expect(wrong, name).toEqual([]);
      expect(schedules, name).toBeGreaterThan(1);
    }
  });
});

describe('the exploration', () => {
  const family = FAMILIES.find(({ name }) => name === 'two calls, of which two fail');
  const scenarios = family?.scenarios ?? [];

  /** Small enough to run every schedule. */
  const calls = scenarios
    .filter(({ name }) => /^(?:revoke|suspend|withdraw) \| verify$/.test(name))
    .map(({ name, setting }) => ({ name, setting: { ...setting, ticks: [], failures: 1 } }));
  const cached = QUICK.find(({ name }) => name === 'one cache, two calls')?.scenarios ?? [];

  // This justifies examining each state only once.
  it.each([...calls, ...cached])(
    'continues the same way from equal states: $name',
    async ({ setting }) => {
      const found = await successorsOf(setting);
      const { states, withCrashes } = await explore(setting);
      expect(found.size).toBe(states);
      expect(withCrashes).toBeGreaterThan(states);
      for (const [state, answers] of found) expect([...answers], state).toHaveLength(1);
    },
  );

  it('counts schedules correctly: 5 steps and 3 steps interleave in 56 ways', async () => {
    const scenario = scenarios.find(({ name }) => name === 'revoke | verify');
    if (scenario === undefined) throw new Error('no such scenario');
    const { schedules } = await explore({ ...scenario.setting, ticks: [], failures: 0 });
    expect(schedules).toBe(56);
  });

  it('leaves nothing running', async () => {
    const scenario = scenarios[0];
    if (scenario === undefined) throw new Error('no such scenario');
    const world = await Simulation.begin(scenario.setting);
    for (const option of world.options().slice(0, 2)) await world.take(option);
    await world.end();
    expect(world.options().filter(({ kind }) => kind === 'effect')).toEqual([]);
  });
});
