/** Widgets that show what the console does not trust, in frames: one file of the build. */
export { HTMLWidget } from './html.tsx';
export { SiteWidget } from './site.tsx';
