export type FileKind = 'image' | 'video';
