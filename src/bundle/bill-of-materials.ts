/**
 * What a bundle is made of, for scanners of known faults: `sbom.cdx.json` beside it, in CycloneDX 1.6
 * (https://cyclonedx.org/docs/1.6/json/). It lists what is inside; what npm installs beside it stands in package.json.
 */
import type { Plugin } from 'vite';
import sbom from 'rollup-plugin-sbom';

/** Without time and serial number: the same sources make the same file. */
export const billOfMaterials = (): Plugin => ({
  ...sbom({ outDir: '.', outFilename: 'sbom.cdx', includeWellKnown: false, saveTimestamp: false }),
  // It looks for Rollup, which Vite has no more, to name it as a tool.
  onLog: (_level, { plugin, message }) =>
    plugin === 'rollup-plugin-sbom' && message.includes('tool "rollup"') ? false : undefined,
});
