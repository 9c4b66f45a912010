/** Under which samples are offered, in this order. Without imports: the build of the console reads it where no package is installed. */
export const sampleGroups: readonly string[] = ['Pages', 'People', 'Data', 'Triggers', 'AI', 'First steps'];
