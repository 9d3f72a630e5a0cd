// A drawing as a file: SVG as it is, PNG at twice its size.

export function svgBlob(svg) {
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
}

// by way of data: and not of blob:, as browsers differ in whether a canvas may be read after drawing an SVG from a blob
function asDataUrl(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(new Error("the drawing cannot be read"));
    reader.readAsDataURL(blob);
  });
}

export async function pngBlob(svg) {
  const picture = new Image();
  picture.src = await asDataUrl(svgBlob(svg));
  await picture.decode();
  const scale = Math.min(2, 8192 / Math.max(picture.width, picture.height, 1));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
