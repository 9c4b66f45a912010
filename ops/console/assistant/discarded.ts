import { useStored } from './stored.ts';

/** Whether the person has discarded a proposal, for as long as the tab lives. */
export function useDiscarded(id: string): [boolean, () => void] {
  const [stored, set] = useStored(`gantry.discarded.${id}`, () => '', sessionStorage);
  return [stored !== '', () => set('yes')];
}
