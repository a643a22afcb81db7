/** The version that `/version` and `lake version` tell; a test holds it against package.json. */
export const version = 'v0.1.0';
