/** Widgets that show something: one file of the build. */
export { AlertWidget } from './alert.tsx';
export { BadgeWidget } from './badge.tsx';
export { CodeBlockWidget } from './code-block.tsx';
export { DividerWidget } from './divider.tsx';
export { ImageWidget } from './image.tsx';
export { JSONViewerWidget } from './json-viewer.tsx';
export { KeyValueWidget } from './key-value.tsx';
export { ListWidget } from './list.tsx';
export { ProgressWidget } from './progress.tsx';
export { StatWidget } from './stat.tsx';
export { TableWidget } from './table.tsx';
export { TextWidget } from './text.tsx';
export { TimelineWidget } from './timeline.tsx';
export { UnknownWidget } from './unknown.tsx';
export { VideoWidget } from './video.tsx';
