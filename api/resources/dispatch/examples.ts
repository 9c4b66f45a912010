export const exampleDispatch = { weight: 1, maxRuns: 20, grantedMaxRuns: 50, ownMaxRuns: 20 };
