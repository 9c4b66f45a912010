import { type CSSVariablesResolver, createTheme, Menu, Modal } from '@mantine/core';

export const theme = createTheme({
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'sm',
  respectReducedMotion: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  headings: { fontWeight: '600' },
  components: {
    // The element that it would focus first is no part of a menu for screen readers.
    Menu: Menu.extend({ defaultProps: { withInitialFocusPlaceholder: false } }),
    // The button has no name by default.
    Modal: Modal.extend({ defaultProps: { closeButtonProps: { 'aria-label': 'Close' }, centered: true } }),
  },
});

/** Mantine's own shades of these miss a contrast of 4.5 : 1. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5c636a',
    '--mantine-color-placeholder': '#6a7178',
    '--mantine-color-anchor': '#1864ab',
    '--mantine-color-error': '#c92a2a',
    '--mantine-color-blue-light-color': '#1864ab',
  },
  dark: {
    '--mantine-color-dimmed': '#b3b8be',
    '--mantine-color-placeholder': '#969ba1',
    '--mantine-color-anchor': '#74c0fc',
    '--mantine-color-error': '#ff8787',
    '--mantine-color-blue-light-color': '#a5d8ff',
  },
});
