import type { Screen } from './grid-edits.ts';

/** Widths at which a page is looked at, in pixels of the page. */
export const widths = {
  desktop: { word: 'Desktop', pixels: undefined, screen: 'lg' },
  tablet: { word: 'Tablet', pixels: 820, screen: 'sm' },
  phone: { word: 'Phone', pixels: 390, screen: 'sm' },
} as const satisfies Record<string, { word: string; pixels: number | undefined; screen: Screen }>;

export type Width = keyof typeof widths;

/** Layouts of a dashboard, which are arranged one by one. */
export const screenWords: Readonly<Record<Screen, string>> = { lg: 'Wide', md: 'Medium', sm: 'Narrow' };

export function isWidth(value: string): value is Width {
  return Object.hasOwn(widths, value);
}

export function isScreen(value: string): value is Screen {
  return Object.hasOwn(screenWords, value);
}
